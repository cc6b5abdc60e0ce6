// Package gauge counts the Applications with a problem, by the reason of the problem.
package gauge

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Reasons counts each Application once. The zero value has counted no Application.
type Reasons struct {
	mu      sync.Mutex
	reasons map[types.NamespacedName]string
}

// Set records the reason of an Application's problem in the gauge. An empty reason means no problem. The gauge has one
// label: the reason. The key must belong to the Application alone.
func (t *Reasons) Set(gauge *prometheus.GaugeVec, app types.NamespacedName, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.reasons[app]
	if before == reason {
		return
	}
	if before != "" {
		gauge.WithLabelValues(before).Dec()
		delete(t.reasons, app)
	}
	if reason != "" {
		if t.reasons == nil {
			t.reasons = map[types.NamespacedName]string{}
		}
		t.reasons[app] = reason
		gauge.WithLabelValues(reason).Inc()
	}
}
