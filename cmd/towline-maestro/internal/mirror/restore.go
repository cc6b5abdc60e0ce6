package mirror

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// removalLook is how often the mirror reads a row after Maestro has announced the removal of the row.
const removalLook = 50 * time.Millisecond

// errVanished says that a row vanishes repeatedly.
var errVanished = errors.New("Maestro has removed the work again though nobody has deleted the work: it is written again within minutes")

var restored = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "towline_maestro_restored_total",
	Help: "Rows of undeleted works that Maestro had lost, and that Towline wrote again.",
})

func init() { legacyregistry.RawMustRegister(restored) }

// vanished writes a bundle again if the bundle is missing in Maestro. If the removal of the bundle was requested,
// vanished forgets the bundle. The caller has the lock of the work.
//
// Maestro drops a row when a status says that the agent has removed the work, even without a deletion of the work. If
// an agent then asks Maestro for missed changes, Maestro tells the agent to remove the work. For this reason, the row
// is restored first.
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
		m.forgetCluster(b.Work.Namespace) // a restored database may lack the cluster
		return err
	}
	restored.Inc()
	m.log.Info("Maestro has lost a work that nobody had deleted, and it is written again", "work", b.Name(), "version", again.Version)
	m.take(again)
	return nil
}
