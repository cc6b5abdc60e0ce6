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
	// leaseDuration is the longest time without a writer after the leader crashes or loses the connection to the hub.
	leaseDuration = 15 * time.Second

	renewDeadline = 10 * time.Second

	// retryPeriod is the time between two renewals of the Lease. A waiting process reads the Lease every 1 to 2.2
	// retry periods.
	retryPeriod = 500 * time.Millisecond

	// onItsWay is the safety time before the possible end of the Lease: a process stops writing onItsWay earlier.
	// client-go counts from the answer to a renewal, and the answer may take half of renewDeadline. A write also needs
	// time to arrive.
	onItsWay = renewDeadline/2 + time.Second
)

// ErrLost means that a different process may write now. The former leader has to end. The next leader begins with the
// works in Maestro.
var ErrLost = errors.New("the lease is lost: another process may write now")

// Election is the competition for the Lease.
type Election struct {
	elector *leaderelection.LeaderElector
	lock    *lock
}

// New returns a candidate for the Lease; Run starts the election. After a won election, Run calls lead. The context of
// lead ends with the loss of the Lease.
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

// newLock returns the Lease as a lock for the process with the identity.
func newLock(client kubernetes.Interface, namespace, identity string) *lock {
	return &lock{lost: func() {}, Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}
}

// Run takes part in the election until the context ends, or until the process loses the Lease. The loss is the error
// ErrLost.
func (e *Election) Run(ctx context.Context) error {
	leading, lost := context.WithCancel(ctx)
	defer lost()
	e.lock.lost = lost
	e.elector.Run(leading)
	if ctx.Err() != nil {
		return nil // The caller ended the process, so the end is no error.
	}
	return ErrLost
}

// MayWrite returns an error if the process does not have the Lease, or has not renewed the Lease in time. A process
// frozen for a while cannot renew the Lease.
func (e *Election) MayWrite() error {
	if !e.elector.IsLeader() {
		return ErrLost
	}
	return e.elector.Check(-onItsWay)
}
