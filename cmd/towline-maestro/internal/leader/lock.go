package leader

import (
	"context"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A lock is the Lease, as client-go's leader election uses it, with three habits of client-go 0.35 mended, as in the controller:
//   - A leader that is to end cancels the renewal that is on its way, which may still arrive while the Lease is given up. That would
//     meet a conflict, and the next leader would wait until the Lease runs out. So whatever was sent comes to its end.
//   - A process that was frozen past its Lease gives up the Lease that another has by then. It does not here.
//   - A leader that reads that another has the Lease tries for ten seconds to renew it, and works on meanwhile. It ends at once here, also
//     where the other has given the Lease up already.
type lock struct {
	resourcelock.Interface

	// held tells whether this process had the Lease when it was last read or written.
	held bool

	// lost is called when this process learns that it does not have the Lease any more.
	lost func()
}

// Get is that of resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	had := l.held
	if l.held = record.HolderIdentity == l.Identity(); had && !l.held {
		l.lost()
	}
	return record, raw, nil
}

// Create is that of resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update is that of resourcelock.Interface. A record without a holder gives the Lease up.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && !l.held {
		return ErrLost
	}
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lock) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewDeadline/2)
	defer cancel()
	err := send(ctx, record)
	if err == nil {
		l.held = record.HolderIdentity == l.Identity()
	}
	return err
}
