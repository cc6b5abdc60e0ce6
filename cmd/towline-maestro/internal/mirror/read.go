package mirror

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

// readOne reads the next bundle of which the mirror does not know how it is. It is false when the mirror has stopped.
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
		case b.ID(m.source) != id:
			return nil // another program's
		}
		name = b.Name()
	}
	defer m.lock(name)()
	if err := m.read(ctx, id); err != nil {
		return err
	}
	return m.retire(ctx, id)
}

// readShown reads the bundle that is shown of a work, or the first where none is. It needs the work's lock.
func (m *Mirror) readShown(ctx context.Context, name types.NamespacedName) error {
	known := m.store.get(name)
	if known == nil {
		return m.read(ctx, bundle.ID(m.source, name, 0))
	}
	return m.read(ctx, known.ID(m.source))
}

// read takes over what Maestro has of a bundle. It needs the work's lock.
func (m *Mirror) read(ctx context.Context, id string) error {
	b, err := m.maestro.Get(ctx, id)
	switch {
	case errors.Is(err, maestro.ErrNotFound):
		m.store.remove(id)
		return nil
	case err != nil:
		return err
	case b.ID(m.source) != id:
		return nil // another program's
	}
	if known := m.store.byID(id); lost(b, known) {
		if b, err = m.writeAgain(ctx, known, b.Version()); err != nil {
			return err
		}
	}
	m.take(b)
	return nil
}

// lost tells whether Maestro has gone back behind a write that it had confirmed. It writes the whole of a bundle with a status, as it has
// read it before; or its database was restored.
func lost(b, known *bundle.Bundle) bool {
	return known != nil && known.Work.UID == b.Work.UID && b.Version() < known.Version() &&
		known.Work.DeletionTimestamp.IsZero() && b.Work.DeletionTimestamp.IsZero()
}

// writeAgain writes what is known of a bundle until Maestro's version of it is a later one: agents take no earlier one for news when
// they ask Maestro for what they have missed.
func (m *Mirror) writeAgain(ctx context.Context, known *bundle.Bundle, version int64) (*bundle.Bundle, error) {
	m.log.Info("Maestro has lost a write, which is written again", "work", known.Name(), "version", known.Version(), "found", version)
	for ; version <= known.Version(); version++ {
		if err := m.publish(ctx, cetypes.UpdateRequestAction, known, version); err != nil {
			return nil, err
		}
	}
	now := *known
	now.Work = known.Work.DeepCopy()
	now.Work.Generation = version - known.First + 1
	return &now, nil
}

// retire removes an earlier bundle of a work, once the agent has applied the latest. It needs the work's lock.
func (m *Mirror) retire(ctx context.Context, id string) error {
	name, _ := m.store.nameOf(id)
	shown, b := m.store.get(name), m.store.byID(id)
	if b == nil || shown == nil || shown.ID(m.source) == id || !b.Work.DeletionTimestamp.IsZero() {
		return nil
	}
	if shown.Replaces() {
		if err := m.publish(ctx, cetypes.DeleteRequestAction, b, b.Version()); err != nil {
			return err
		}
		return m.read(ctx, id)
	}
	following, changed := b.Follow(shown)
	if !changed {
		return nil
	}
	if err := m.publish(ctx, cetypes.UpdateRequestAction, following, b.Version()); err != nil {
		return err
	}
	return m.read(ctx, id)
}
