package leader

import (
	"context"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A lock is the Lease for client-go's leader election. The lock corrects two problems of client-go 0.37.2, like the
// controller:
//   - A client-go process frozen beyond the Lease releases the Lease of a new leader. The lock refuses such a release.
//   - A client-go leader sees a new holder of the Lease, but tries to renew the Lease for ten seconds, and continues to work in
//     the meantime. With the lock, the leader ends at once, even if the new holder has already released the Lease.
type lock struct {
	resourcelock.Interface

	// held tells whether the process had the Lease at the last read or write.
	held bool

	// lost is called when the process learns of the loss of the Lease.
	lost func()
}

// Get implements resourcelock.Interface. Get calls lost if a former read or write found the process as the holder, and
// the Lease now has a different holder.
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

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface. A record without a holder releases the Lease. For a process without the
// Lease, a release is the error ErrLost.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && !l.held {
		return ErrLost
	}
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lock) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline/2)
	defer cancel()
	err := send(ctx, record)
	if err == nil {
		l.held = record.HolderIdentity == l.Identity()
	}
	return err
}
