package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

const (
	// leaseName is the Lease by which one replica leads.
	leaseName = "towline-controller"

	// leaseDuration is for how long the Lease counts after it was renewed, and renewDeadline is how long the leader tries to renew it.
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second

	// leaseRetryPeriod is how often the leader renews the Lease. A replica that waits looks at it after one to 2.2 of these: so it
	// leads at most 1.1 s after the Lease was given up, and nearly always at most two seconds after a Lease that nobody renews ends: by
	// arithmetic more than 1.5 s once in a hundred times, and with 600 ms more than 1.8 s.
	leaseRetryPeriod = 500 * time.Millisecond
)

// errNotLeading is what becomes of a write when another replica may lead.
var errNotLeading = errors.New("this replica does not have the Lease any more, and does not write: another replica leads, or may lead")

// elect has one of several replicas lead.
func elect(m *ctrl.Options, o *options) {
	m.LeaderElection = o.leaderElect
	m.LeaderElectionID = leaseName
	m.LeaderElectionNamespace = cmp.Or(podNamespace(podNamespaceFile), o.argocdNamespace)
	m.LeaseDuration, m.RenewDeadline, m.RetryPeriod = ptr.To(leaseDuration), ptr.To(renewDeadline), ptr.To(leaseRetryPeriod)
	// The program ends when the manager does, so the next leader need not wait for the Lease to run out.
	m.LeaderElectionReleaseOnCancel = true
}

// A lock is the Lease, as client-go's leader election uses it, with three habits of client-go 0.35 mended:
//   - A leader that is to end cancels the renewal that is on its way, which may still arrive while the Lease is given up. That would
//     meet a conflict, and the next leader would wait until the Lease runs out. So whatever was sent comes to its end.
//   - A process that was frozen past its Lease gives up the Lease that another has by then. It does not here.
//   - A leader that reads that another has the Lease tries for ten seconds to renew it, and works on meanwhile. It ends at once here, also
//     where the other has given the Lease up already.
type lock struct {
	resourcelock.Interface

	tenure *tenure

	// holder had the Lease when it was last read or written.
	holder string

	// lost is called when another has the Lease that this process had.
	lost func(error)
}

// open makes the Lease ready to use, with events of its own. Its clients are not fenced: who does not lead any more gives it up.
func (l *lock) open(config *rest.Config, events recorder.Provider, m ctrl.Options) (err error) {
	l.Interface, err = leaderelection.NewResourceLock(config, events, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: m.LeaderElectionID, LeaderElectionNamespace: m.LeaderElectionNamespace,
		RenewDeadline: *m.RenewDeadline,
	})
	return err
}

// Get is that of resourcelock.Interface.
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

// Create is that of resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update is that of resourcelock.Interface. A record without a holder gives the Lease up.
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
	if err := ctx.Err(); err != nil {
		return err
	}
	asked := l.tenure.now()
	if err := send(context.WithoutCancel(ctx), record); err != nil { // the client ends it after half of renewDeadline
		return err
	}
	l.holder = record.HolderIdentity
	if l.isHeld() {
		l.tenure.renew(asked)
	}
	return nil
}

// isHeld tells whether this process had the Lease when it was last read or written.
func (l *lock) isHeld() bool { return l.holder == l.Identity() }
