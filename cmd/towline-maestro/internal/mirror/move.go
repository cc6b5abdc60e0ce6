package mirror

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

// mustMove returns whether a work must get a bundle with a new id now, because a stranger knows or can compute the
// present id. The agent must have applied the present bundle. The work must have no earlier bundle, no requested
// operation and no deletion. The move works like a change of the shape: the agent deletes and recreates no object on
// the cluster.
func (m *Mirror) mustMove(b *bundle.Bundle) bool {
	if m.Quiet || !b.IsPublic(m.source) && !m.removals.isKnown(b.ID) {
		return false
	}
	return b.Replaces() && !b.Requests() && b.Work.DeletionTimestamp.IsZero() && len(m.store.pastOf(b.Name())) == 0
}

// move gives one work a new id, at the pace of reminders. move returns false when the mirror has stopped.
func (m *Mirror) move(ctx context.Context, limit *rate.Limiter) bool {
	name, stopped := m.moves.Get()
	if stopped {
		return false
	}
	defer m.moves.Done(name)
	limit.SetLimit(m.lag.pace(time.Now()))
	if limit.Wait(ctx) != nil {
		return false
	}
	if err := m.moveNow(ctx, name); err != nil {
		m.log.V(1).Info("Failed to give a work a new id", "work", name, "error", err)
		m.moves.AddRateLimited(name)
		return true
	}
	m.moves.Forget(name)
	return true
}

func (m *Mirror) moveNow(ctx context.Context, name types.NamespacedName) error {
	defer m.lock(name)()
	b := m.store.get(name)
	if b == nil || !m.mustMove(b) {
		return nil
	}
	if err := m.MayWrite(); err != nil {
		return err
	}
	next := b.Moved(m.IDs)
	if err := m.publish(ctx, cetypes.CreateRequestAction, next); err != nil {
		m.stale.AddRateLimited(next.ID)
		return err
	}
	m.log.V(1).Info("Gave a work a new id", "work", name)
	m.take(next)
	return nil
}
