package leader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Name is the name of the Lease.
const Name = "towline-maestro"

const (
	// leaseDuration is how long a process that is gone, or cut off, keeps others from writing.
	leaseDuration = 15 * time.Second

	renewDeadline = 10 * time.Second

	// retryPeriod is how often the Lease is renewed. A process that waits looks at it after one to 2.2 of these.
	retryPeriod = 500 * time.Millisecond

	// onItsWay is how long before its Lease may run out a process stops writing: client-go counts from the answer to a renewal, which may
	// take half of renewDeadline, and a write has to arrive.
	onItsWay = renewDeadline/2 + time.Second
)

// ErrLost says that another process may write now. Whoever has led ends: the next process begins with what Maestro has.
var ErrLost = errors.New("the lease is lost: another process may write now")

// Election is the competition for the Lease.
type Election struct {
	elector *leaderelection.LeaderElector
	lock    *lock
}

// New takes part in the election; lead is called when it is won, with a context that ends when the Lease is lost.
func New(client kubernetes.Interface, namespace string, lead func(context.Context)) (*Election, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	l := newLock(client, namespace, host+"_"+uuid.NewString())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true, Name: Name,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Election{elector, l}, nil
}

// newLock is the Lease for a process.
func newLock(client kubernetes.Interface, namespace, identity string) *lock {
	return &lock{lost: func() {}, Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}
}

// Run takes part until the context ends. The error is ErrLost where the Lease was won, and lost.
func (e *Election) Run(ctx context.Context) error {
	leading, lost := context.WithCancel(ctx)
	defer lost()
	e.lock.lost = lost
	e.elector.Run(leading)
	if ctx.Err() != nil {
		return nil // it was to end
	}
	return ErrLost
}

// MayWrite is an error for a process that does not have the Lease, or has not renewed it in time: it may have been stopped for a while.
func (e *Election) MayWrite() error {
	if !e.elector.IsLeader() {
		return ErrLost
	}
	return e.elector.Check(-onItsWay)
}
