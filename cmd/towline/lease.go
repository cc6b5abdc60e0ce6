package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

const (
	// leaseName is the Lease of the leading replica.
	leaseName = "towline-controller"

	// leaseDuration is how long the Lease is valid after a renewal. renewDeadline is how long the leader retries a
	// renewal.
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second

	// podUIDVariable is the environment variable with the UID of the pod. The Deployment sets the variable from
	// metadata.uid.
	podUIDVariable = "POD_UID"

	// leaseRetryPeriod is the interval of renewals. A waiting replica checks the Lease after one to 2.2 intervals.
	// After a released Lease, a new replica leads within 1.1 s. After the end of an unrenewed Lease, a new replica
	// nearly always leads within two seconds. By calculation, it takes more than 1.5 s once in a hundred times. With
	// 600 ms, it takes more than 1.8 s as often.
	leaseRetryPeriod = 500 * time.Millisecond
)

// errNotLeading is the error of a write when a different replica may lead.
var errNotLeading = errors.New("this replica has lost the Lease and does not write: another replica may lead")

// elect configures the leader election among the replicas.
func elect(m *ctrl.Options, o *options) {
	m.LeaderElection = o.leaderElect
	m.LeaderElectionID = leaseName
	m.LeaderElectionNamespace = cmp.Or(podNamespace(podNamespaceFile), o.argocdNamespace)
	m.LeaseDuration, m.RenewDeadline, m.RetryPeriod = ptr.To(leaseDuration), ptr.To(renewDeadline), ptr.To(leaseRetryPeriod)
	// The program ends with the manager, so the next leader need not wait for the end of the Lease.
	m.LeaderElectionReleaseOnCancel = true
}

// lock is the Lease of client-go's leader election. It corrects two behaviours of client-go 0.37.2:
//   - A process frozen past the end of its Lease releases the Lease of the next leader. With lock, the release fails.
//   - A leader that reads a different holder in the Lease tries to renew for ten seconds, and works on. With lock, the
//     leader ends at once, even if the other holder has already released the Lease.
type lock struct {
	resourcelock.Interface

	tenure *tenure

	// holder is the holder of the Lease at the last read or write.
	holder string

	// lost is called if a different process has taken over the Lease.
	lost func(error)
}

// open creates the client of the Lease, with its own events. The client has no fence: a former leader must release
// the Lease.
//
// In a pod, podUID is the UID of the pod, and names the process in the Lease. The kubelet restarts the container of a
// pod only after the end of the former process. So a process that finds the pod's own Lease leads at once: after an
// out-of-memory kill, a single replica leads within 1 s instead of 16 s. A second process in the pod cannot start,
// because the first process has the port of the probes. Without podUID, each process has its own name, as in
// controller-runtime.
func (l *lock) open(config *rest.Config, events recorder.Provider, m ctrl.Options, podUID string) (err error) {
	l.Interface, err = leaderelection.NewResourceLock(config, events, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: m.LeaderElectionID, LeaderElectionNamespace: m.LeaderElectionNamespace,
		RenewDeadline: *m.RenewDeadline,
	})
	if lease, is := l.Interface.(*resourcelock.LeaseLock); is && podUID != "" {
		host, _, _ := strings.Cut(lease.LockConfig.Identity, "_")
		lease.LockConfig.Identity = host + "_" + podUID
	}
	return err
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	record, raw, err = l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	if l.isHeld() && record.HolderIdentity != l.Identity() {
		l.tenure.end()
		l.lost(errNotLeading)
	}
	l.holder = record.HolderIdentity
	return record, raw, nil
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface. A record without a holder releases the Lease.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" {
		if !l.isHeld() {
			return errNotLeading
		}
		l.tenure.end()
	}
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lock) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	asked := l.tenure.now()
	if err := send(ctx, record); err != nil { // the client's timeout is half of renewDeadline
		return err
	}
	l.holder = record.HolderIdentity
	if l.isHeld() {
		l.tenure.renew(asked)
	}
	return nil
}

// isHeld reports whether the process held the Lease at the last read or write.
func (l *lock) isHeld() bool { return l.holder == l.Identity() }
