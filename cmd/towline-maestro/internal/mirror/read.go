package mirror

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

// readOne reads the next bundle with an unknown state. readOne returns false when the mirror has stopped.
func (m *Mirror) readOne(ctx context.Context) bool {
	id, stopped := m.stale.Get()
	if stopped {
		return false
	}
	defer m.stale.Done(id)
	if err := m.readAgain(ctx, id); err != nil {
		m.stale.AddRateLimited(id)
		return true
	}
	m.stale.Forget(id)
	return true
}

func (m *Mirror) readAgain(ctx context.Context, id string) error {
	name, ok := m.store.nameOf(id)
	if !ok {
		b, err := m.maestro.Get(ctx, id)
		switch {
		case errors.Is(err, maestro.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		name = b.Name()
	}
	defer m.lock(name)()
	if err := m.read(ctx, id); err != nil {
		return err
	}
	if m.removals.expected(id) && m.store.byID(id) != nil {
		m.stale.AddAfter(id, removalLook)
	}
	return m.retire(ctx, id)
}

// readShown reads the shown bundle of a work, or the work's first bundle if the mirror does not know the work. The
// caller has the lock of the work.
func (m *Mirror) readShown(ctx context.Context, name types.NamespacedName) error {
	known := m.store.get(name)
	if known == nil {
		return m.read(ctx, m.IDs.Of(name, 0))
	}
	return m.read(ctx, known.ID)
}

// read takes over the state of a bundle from Maestro. The caller has the lock of the work.
func (m *Mirror) read(ctx context.Context, id string) error {
	b, err := m.maestro.Get(ctx, id)
	switch {
	case errors.Is(err, maestro.ErrNotFound):
		return m.vanished(ctx, id)
	case err != nil:
		return err
	}
	if again := lost(b, m.store.byID(id)); again != nil {
		if err := m.writeAgain(ctx, again, b.Version); err != nil {
			return err
		}
		b = again
	}
	m.take(b)
	return nil
}

// lost returns the bundle to write again, or nil if no write is lost. A write is lost if Maestro's version is lower
// than a confirmed version. When Maestro stores a status, Maestro writes the whole bundle, as read before the lost
// write. The restore of an old database has the same effect. A write is also lost if an earlier process has not
// finished the repeat of the write.
func lost(b, known *bundle.Bundle) *bundle.Bundle {
	again := b.WithVersion(b.Written)
	switch {
	case !b.Work.DeletionTimestamp.IsZero():
		return nil
	case known != nil && known.Work.UID == b.Work.UID && b.Version < known.Version && known.Work.DeletionTimestamp.IsZero():
		again = known.WithVersion(known.Version + 1)
	case b.Version >= b.Written:
		return nil
	}
	again.Work = again.Work.DeepCopy()
	return again
}

// writeAgain publishes b until Maestro's version is b.Version. version is Maestro's present version, and each write
// raises the version by 1. When an agent asks Maestro for missed changes, the agent accepts only later versions.
func (m *Mirror) writeAgain(ctx context.Context, b *bundle.Bundle, version int64) error {
	m.log.Info("Maestro has lost a write, and towline-maestro repeats the write", "work", b.Name(), "version", b.Version, "found", version)
	for next := *b; version < b.Version; version++ {
		next.Version = version + 1
		if err := m.publish(ctx, cetypes.UpdateRequestAction, &next); err != nil {
			return err
		}
	}
	return nil
}

// retire copies the shared content of the latest bundle into an earlier bundle of the work. After the agent has applied
// the latest bundle, retire asks Maestro to delete the earlier bundle. The caller has the lock of the work.
func (m *Mirror) retire(ctx context.Context, id string) error {
	name, _ := m.store.nameOf(id)
	shown, b := m.store.get(name), m.store.byID(id)
	if b == nil || shown == nil || shown.ID == id || !b.Work.DeletionTimestamp.IsZero() {
		return nil
	}
	next, changed := b.Follow(shown)
	action := cetypes.UpdateRequestAction
	if !changed {
		if !shown.Replaces() || !b.MayGo(shown) {
			return nil
		}
		next, action = b, cetypes.DeleteRequestAction
	}
	if err := m.publish(ctx, action, next); err != nil {
		return err
	}
	return m.read(ctx, id)
}
