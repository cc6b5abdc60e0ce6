package gauge

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
)

func TestEachApplicationIsCountedOnce(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "x", Name: "a"}, types.NamespacedName{Namespace: "x", Name: "b"}
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "g"}, []string{"reason"})
	count := func(reason string) float64 {
		var m dto.Metric
		if err := gauge.WithLabelValues(reason).Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetGauge().GetValue()
	}
	var reasons Reasons
	reasons.Set(gauge, a, "One")
	reasons.Set(gauge, a, "One")
	reasons.Set(gauge, b, "One")
	if got := count("One"); got != 2 {
		t.Errorf("two Applications are counted as %v", got)
	}
	reasons.Set(gauge, a, "Other")
	reasons.Set(gauge, b, "")
	reasons.Set(gauge, b, "")
	if one, other := count("One"), count("Other"); one != 0 || other != 1 {
		t.Errorf("got %v and %v", one, other)
	}
}
