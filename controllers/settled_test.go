package controllers_test

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// settled waits until everything that happened before has been looked at, and what came of that as well. An Application that is
// made afterwards is sent, and later reported on: the watches tell of both after all that was before. Each time the controllers
// end what they have begun by then.
func settled(t *testing.T) {
	t.Helper()
	barrier(t, false)
}

// settledBeside does the same for what travels beside Applications.
func settledBeside(t *testing.T) {
	t.Helper()
	barrier(t, true)
}

func barrier(t *testing.T, beside bool) {
	t.Helper()
	b := fixture.Application(unique("barrier")).Namespace(barrierNamespace).Cluster(barrierCluster)
	if beside {
		b.Annotation(apis.AnnotationWith, "secret/"+barrierSecret)
	}
	app := b.Obj()
	create(t, app)
	discardLater(t, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: barrierCluster, Name: work.Name(app)}})
	expectWork(t, app)
	if beside {
		discardLater(t, expectDependency(t, dependency.ObjectsKey(work.Key(app)), func(Gomega, *workv1.ManifestWork) {}))
	}
	expectIdle(t)
	report(t, app, feedbackOf(app).Healthy("x"))
	expectHealth(t, app, "Healthy")
	expectIdle(t)
}

// expectIdle waits until no controller works on anything, or has anything to begin with at once.
func expectIdle(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() float64 { return busyness(t) - abandoned.busyness }, soon, tick).
		Should(BeZero(), "the controllers do not come to rest")
}

// abandoned is the work that managers left which do not run any more: one that never led began with nothing.
var abandoned struct {
	mu       sync.Mutex
	running  int
	busyness float64
}

// began and ended count the managers that run.
func began(t *testing.T) (ended func()) {
	t.Helper()
	abandoned.mu.Lock()
	defer abandoned.mu.Unlock()
	if abandoned.running == 0 {
		abandoned.busyness = busyness(t)
	}
	abandoned.running++
	return func() {
		abandoned.mu.Lock()
		defer abandoned.mu.Unlock()
		abandoned.running--
	}
}

// busyness is how many objects controllers work on, or have in their queues.
func busyness(t *testing.T) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		switch family.GetName() {
		case "workqueue_depth", "controller_runtime_active_workers":
			for _, m := range family.GetMetric() {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
