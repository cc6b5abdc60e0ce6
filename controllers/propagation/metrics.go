package propagation

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	workWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_manifestwork_writes_total",
		Help: "ManifestWorks written, by operation: create, update or delete.",
	}, []string{"operation"})

	blockedApplications = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_propagation_blocked",
		Help: "Applications that cannot be sent to their cluster as they are, by reason.",
	}, []string{"reason"})
)

func init() {
	metrics.Registry.MustRegister(workWrites, blockedApplications)
}

// blocked counts the Applications that cannot be sent, by reason.
type blocked struct {
	mu      sync.Mutex
	reasons map[types.NamespacedName]string
}

// set notes why an Application is blocked; an empty reason means that it is not.
func (b *blocked) set(app types.NamespacedName, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.reasons[app]
	if before == reason {
		return
	}
	if before != "" {
		blockedApplications.WithLabelValues(before).Dec()
		delete(b.reasons, app)
	}
	if reason != "" {
		if b.reasons == nil {
			b.reasons = map[types.NamespacedName]string{}
		}
		b.reasons[app] = reason
		blockedApplications.WithLabelValues(reason).Inc()
	}
}
