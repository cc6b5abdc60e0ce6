// Package gauge counts the Applications that something is wrong with, by what it is.
package gauge

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Reasons counts each Application once. The zero value has counted none.
type Reasons struct {
	mu      sync.Mutex
	reasons map[types.NamespacedName]string
}

// Set notes in the gauge, which has one label, the reason that an Application is to be counted for; empty for none. It
// goes by any key that is the Application's alone.
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
