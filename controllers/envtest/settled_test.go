package envtest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// settled waits until Towline has processed all earlier changes and their consequences. settled changes an Application,
// waits for the write of its work, and then for the shown report. The watches deliver both changes after all earlier
// changes. After each step, settled waits until all controllers are idle.
func settled(t *testing.T) {
	t.Helper()
	b := barrierOf(t, false)
	b.send(t)
	b.hear(t)
}

// settledBeside waits like settled, and also for the dependencies of Applications.
func settledBeside(t *testing.T) {
	t.Helper()
	b := barrierOf(t, true)
	b.send(t)
	b.hear(t)
}

// sent waits until Towline has processed all earlier changes, if no controller shows reports.
func sent(t *testing.T) {
	t.Helper()
	barrierOf(t, false).send(t)
}

// barrier is an Application that a test changes in order to wait for the effect. The lasting Towline has a barrier for
// all tests, because the creation and the deletion of a barrier cost some twenty requests.
type barrier struct {
	app    *argocd.Application
	beside bool
	rounds int
}

// barrierOf returns the barrier of the lasting Towline, or a temporary barrier without a lasting Towline.
func barrierOf(t *testing.T, beside bool) *barrier {
	t.Helper()
	if !worksForATest() {
		b := &barrier{beside: beside}
		t.Cleanup(func() {
			if err := b.end(); err != nil {
				t.Error(err)
			}
		})
		return b
	}
	b := &lasting.barriers[0]
	if beside {
		b = &lasting.barriers[1]
	}
	b.beside = beside
	return b
}

// send changes or creates the Application, and waits until the work contains the change.
func (b *barrier) send(t *testing.T) {
	t.Helper()
	b.rounds++
	round := fmt.Sprint("round-", b.rounds)
	// Automated sync: without it, the hub would show that the cluster has not compared the change.
	automated := strings.Replace(specOf(argocd.DefaultProject, "https://x.example.com"), "{", `{"syncPolicy":{"automated":{}},`, 1)
	spec := runtime.RawExtension{Raw: []byte(strings.ReplaceAll(automated, "web", round))}
	if b.app == nil {
		app := fixture.Application(unique("barrier")).Namespace(barrierNamespace).Cluster(barrierCluster).Obj()
		if b.beside {
			app.Annotations[apis.AnnotationWith] = "secret/" + barrierSecret
		}
		app.UID, app.Spec = "", spec
		if err := k8s.Create(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		b.app = app
	} else {
		edit(t, b.app, func(a *argocd.Application) { a.Spec = spec })
	}
	expectWork(t, b.app)
	if b.beside {
		expectDependency(t, dependency.ObjectsKey(work.Key(b.app)), carries(`"namespace":"`+round+`"`))
	}
	expectIdle(t)
}

// hear reports on the Application, and waits until the Application shows the report.
func (b *barrier) hear(t *testing.T) {
	t.Helper()
	round := fmt.Sprint("round-", b.rounds)
	report(t, b.app, feedbackOf(b.app).Healthy(round))
	NewWithT(t).Eventually(func() bool {
		synced := get(t, b.app).Status.Sync
		return synced != nil && synced.Revision == round
	}, soon, tick).Should(BeTrue(), "what is reported is not shown")
	expectIdle(t)
}

// end deletes the Application and its works.
func (b *barrier) end() error {
	if b.app == nil {
		return nil
	}
	key := work.Key(b.app)
	objects := []client.Object{b.app, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}
	if b.beside {
		key = dependency.ObjectsKey(key)
		objects = append(objects, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	}
	*b = barrier{}
	for _, obj := range objects {
		if err := endSoon(context.Background(), obj); err != nil {
			return err
		}
	}
	return nil
}

// countAnew resets the count of writes after all controllers are idle. Otherwise a controller could still write a
// second object after the test has seen the first object.
func (r *running) countAnew(t *testing.T) {
	t.Helper()
	settledBeside(t)
	r.writes.take()
}

// made returns the writes since countAnew, after all controllers are idle.
func (r *running) made(t *testing.T) []string {
	t.Helper()
	settledBeside(t)
	return r.writes.take()
}

// expectIdle waits until no controller is active, and all queues are empty.
func expectIdle(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(func() float64 { sum, _ := busyness(t); return sum - abandoned.busyness }, soon, tick).
		Should(BeZero(), func() string {
			_, busy := busyness(t)
			return fmt.Sprintf("the controllers do not come to rest: %v; stopped managers have left %v", busy, abandoned.busy)
		})
}

// abandoned is the remaining work of stopped managers. A manager that never led has started no work.
var abandoned struct {
	mu       sync.Mutex
	running  int
	busyness float64
	busy     []string
}

// began and its result ended count the running managers.
func began(t *testing.T) (ended func()) {
	t.Helper()
	abandoned.mu.Lock()
	defer abandoned.mu.Unlock()
	if abandoned.running == 0 {
		abandoned.busyness, abandoned.busy = busyness(t)
	}
	abandoned.running++
	return func() {
		abandoned.mu.Lock()
		defer abandoned.mu.Unlock()
		abandoned.running--
	}
}

// busyness returns the number of objects in progress or in the queues of the controllers, and the metrics with these
// objects.
func busyness(t *testing.T) (sum float64, busy []string) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		switch family.GetName() {
		case "workqueue_depth", "controller_runtime_active_workers":
			for _, m := range family.GetMetric() {
				if value := m.GetGauge().GetValue(); value != 0 {
					sum += value
					busy = append(busy, fmt.Sprintf("%s%v %v", family.GetName(), m.GetLabel(), value))
				}
			}
		}
	}
	return sum, busy
}
