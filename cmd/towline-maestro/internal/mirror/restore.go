package mirror

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// removalLook is how often the mirror looks for a row, after Maestro has said that Maestro removes the row.
const removalLook = 50 * time.Millisecond

// errVanished is for a row that goes again and again.
var errVanished = errors.New("Maestro has removed the work again though nobody has deleted the work: it is written again within minutes")

var restored = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "towline_maestro_restored_total",
	Help: "Rows that Maestro had lost though nobody had deleted the work, and that were written again.",
})

func init() { legacyregistry.RawMustRegister(restored) }

// vanished writes a bundle again that Maestro does not have. If somebody has asked for the removal of the bundle, vanished forgets the bundle.
// The caller has the lock of the work.
//
// Maestro drops a row when a status says that the agent has removed the work, even if nobody has deleted the work. An agent that asks
// Maestro then for missed changes is told to remove the work. So the row comes back first.
func (m *Mirror) vanished(ctx context.Context, id string) error {
	b := m.store.byID(id)
	if b == nil || m.removals.wanted(b) {
		m.gone(id)
		return nil
	}
	if err := m.MayWrite(); err != nil {
		return err
	}
	if !m.removals.mayRestore(b) {
		return errVanished
	}
	if err := m.knowCluster(ctx, b.Work.Namespace); err != nil {
		return err
	}
	again := b.Restored()
	if err := m.publish(ctx, cetypes.CreateRequestAction, again); err != nil {
		m.forgetCluster(b.Work.Namespace) // Maestro may know it no more: its database may have been restored
		return err
	}
	restored.Inc()
	m.log.Info("Maestro has lost a work that nobody had deleted, and it is written again", "work", b.Name(), "version", again.Version)
	m.take(again)
	return nil
}
