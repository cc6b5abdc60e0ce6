package resourcesync

import (
	"context"
	"encoding/json"
	"fmt"
	gort "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// indexed is a cache that returns its Applications for every look-up.
type indexed struct {
	client.Reader
	apps []argocd.Application
}

func (h *indexed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*argocd.ApplicationList).Items = append(list.(*argocd.ApplicationList).Items, h.apps...)
	return nil
}

// shrunk returns the kept part of a report, or nil if the cache drops the report.
func shrunk(t *testing.T, a *Agent, r *v1alpha1.ApplicationReport) *v1alpha1.ApplicationReport {
	t.Helper()
	out, err := a.shrink(r)
	if err != nil {
		t.Fatal(err)
	}
	if out == nil {
		return nil
	}
	return out.(*v1alpha1.ApplicationReport)
}

// stuffed returns about the largest report permitted by the schema.
func stuffed(app *argocd.Application, name string) *v1alpha1.ApplicationReport {
	r := &v1alpha1.ApplicationReport{ObservedAt: "2026-01-02T03:04:05Z"}
	r.Namespace, r.Name, r.UID, r.ResourceVersion, r.Generation = app.Cluster(), name, "u", "7", 3
	r.Annotations = map[string]string{"x": strings.Repeat("x", 200<<10)}
	r.Application = v1alpha1.ReportedApplication{Namespace: app.Namespace, Name: app.Name, ResourceVersion: "1"}
	for i := range 4096 {
		r.Status.Resources = append(r.Status.Resources, argocd.ResourceStatus{Kind: "Service", Name: fmt.Sprint(strings.Repeat("x", 200), i)})
	}
	return r
}

func sizeOf(t *testing.T, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// TestPartsOfReportsInMemory: a cluster cannot decide how many of its reports are kept, nor how much of a report.
func TestPartsOfReportsInMemory(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	a := &Agent{apps: &indexed{apps: []argocd.Application{*app}}}
	trim := func(r *v1alpha1.ApplicationReport) *v1alpha1.ApplicationReport {
		t.Helper()
		return shrunk(t, a, r)
	}
	expected := trim(stuffed(app, work.Name(app)))
	if n := sizeOf(t, expected); n > v1alpha1.MaxReportSize+4096 || trimmed(expected) {
		t.Errorf("%d bytes are kept of a report", n)
	}
	if expected.Truncated == nil || expected.Truncated.Resources == 0 || len(expected.Status.Resources) == 0 {
		t.Errorf("nobody hears that something was left out: %+v", expected.Truncated)
	}
	if again := trim(expected.DeepCopy()); sizeOf(t, again) != sizeOf(t, expected) {
		t.Error("what is kept is cut again")
	}
	other := trim(stuffed(app, "invented"))
	if n := sizeOf(t, other); n > 512 || !trimmed(other) {
		t.Errorf("%d bytes are kept of a report that no Application accounts for", n)
	}
	if other.Name != "invented" || other.ResourceVersion != "7" || other.Generation != 3 {
		t.Errorf("got %+v", other.ObjectMeta)
	}
}

// TestHowManyReportsAreHeld: reports without an Application on the hub fill only the share of their own cluster.
func TestHowManyReportsAreHeld(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	a := &Agent{apps: &indexed{apps: []argocd.Application{*app}}}
	invented := func(cluster string, i int) *v1alpha1.ApplicationReport {
		r := &v1alpha1.ApplicationReport{}
		r.Namespace, r.Name = cluster, fmt.Sprint("invented", i)
		return r
	}
	count := func(cluster string, from, to int) (n int) {
		for i := from; i < to; i++ {
			if shrunk(t, a, invented(cluster, i)) != nil {
				n++
			}
		}
		return n
	}
	if n := count(app.Cluster(), 0, 5000); n != maxNames {
		t.Errorf("%d names are kept, want %d", n, maxNames)
	}
	if n := count(app.Cluster(), 0, maxNames); n != maxNames {
		t.Errorf("%d of those that were kept are, want all %d", n, maxNames)
	}
	if shrunk(t, a, stuffed(app, work.Name(app))) == nil {
		t.Error("they keep out a report that an Application accounts for")
	}
	if n := count("cluster2", 0, 10); n != 10 {
		t.Errorf("another cluster has room for %d", n)
	}
	a.forget(invented(app.Cluster(), 7))
	if n := count(app.Cluster(), 5000, 5002); n != 1 {
		t.Errorf("%d are kept in the place of one that is gone", n)
	}
	a.budgets.begin()
	if n := count(app.Cluster(), 2000, 2010); n != 10 {
		t.Errorf("%d of 10 are kept when all are read anew", n)
	}
	for i := range 5000 {
		a.forget(invented(app.Cluster(), i))
		a.forget(invented("cluster2", i))
	}
	if n := len(a.budgets.clusters); n > 0 {
		t.Errorf("%d clusters are remembered that have no reports", n)
	}
}

// wide returns a report whose lists are much larger in memory than in JSON.
func wide(app *argocd.Application) *v1alpha1.ApplicationReport {
	r := stuffed(app, work.Name(app))
	r.Status = argocd.Status{Health: argocd.Health{Status: "Degraded"}, OperationState: &argocd.OperationState{
		Phase: "Succeeded", StartedAt: "2026-01-02T03:04:05Z", SyncResult: &argocd.SyncResult{Revision: "a"},
	}}
	for i := range 4096 {
		r.Status.Resources = append(r.Status.Resources, argocd.ResourceStatus{Kind: "A", Name: strconv.Itoa(i)})
		results := &r.Status.OperationState.SyncResult.Resources
		*results = append(*results, argocd.ResourceResult{Kind: "A", Name: strconv.Itoa(i)})
	}
	return r
}

// TestHowMuchIsHeldOfReports: a cluster cannot decide how much memory all of its reports take. The dropped lists count
// as unknown, so no status is blanked.
func TestHowMuchIsHeldOfReports(t *testing.T) {
	const n = 60
	in := &indexed{}
	for i := range n {
		in.apps = append(in.apps, *fixture.Application(fmt.Sprint("app", i)).Obj())
	}
	a := &Agent{apps: in}
	before := live()
	reports := make([]*v1alpha1.ApplicationReport, n)
	for i := range n {
		reports[i] = shrunk(t, a, wide(&in.apps[i]))
	}
	if got := live() - before; got > maxMemory*5/4 {
		t.Errorf("%d bytes are kept", got)
	}
	whole, brief := reports[0], reports[n-1]
	if len(whole.Status.Resources) == 0 {
		t.Error("nothing is kept of a report that there was room for")
	}
	seen := appreport.Read(brief, types.NamespacedName{Namespace: in.apps[n-1].Namespace, Name: in.apps[n-1].Name})
	if seen.Status.Health.Status != "Degraded" || seen.Status.OperationState == nil || seen.Complete || seen.Detailed ||
		len(brief.Status.Resources) > 0 {
		t.Errorf("got health %+v, operation %+v, complete %t, detailed %t, %d resources",
			seen.Status.Health, seen.Status.OperationState, seen.Complete, seen.Detailed, len(brief.Status.Resources))
	}
	if got := value(t, briefReports); got == 0 || got >= n {
		t.Errorf("%v reports are said to be brief", got)
	}
	neighbour := fixture.Application("neighbour").Cluster("cluster2").Obj()
	in.apps = append(in.apps, *neighbour)
	if r := shrunk(t, a, wide(neighbour)); len(r.Status.Resources) == 0 {
		t.Error("it takes the room of another cluster")
	}
	for _, r := range reports {
		a.forget(r)
	}
	if r := shrunk(t, a, wide(&in.apps[n-1])); len(r.Status.Resources) == 0 || value(t, briefReports) != 0 {
		t.Error("there is room again, and it is not used")
	}
}

// TestInformerOfReports: the limits hold for a list and for later watch events.
func TestInformerOfReports(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	a := &Agent{apps: &indexed{apps: []argocd.Application{*app}}}
	report := func(name string) *v1alpha1.ApplicationReport {
		r := &v1alpha1.ApplicationReport{ObservedAt: "2026-01-02T03:04:05Z"}
		r.Namespace, r.Name, r.ResourceVersion = app.Cluster(), name, "8"
		r.Application = v1alpha1.ReportedApplication{Namespace: app.Namespace, Name: app.Name, ResourceVersion: "1"}
		return r
	}
	later := watch.NewFakeWithChanSize(2*maxNames, false)
	informer := a.newInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &v1alpha1.ApplicationReportList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
			for i := range maxNames - 100 {
				list.Items = append(list.Items, *report(fmt.Sprint("invented", i)))
			}
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
			}
			return later, nil
		},
	}, &v1alpha1.ApplicationReport{}, 0, toolscache.Indexers{})
	go informer.RunWithContext(t.Context())
	if !toolscache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the cache was not filled")
	}
	for i := range 1000 {
		later.Add(report(fmt.Sprint("later", i)))
	}
	later.Add(report(work.Name(app)))
	has := func(name string) bool {
		_, ok, err := informer.GetStore().GetByKey(app.Cluster() + "/" + name)
		return ok && err == nil
	}
	await := func(what string, is func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			return is(), nil
		})
		if err != nil {
			t.Fatalf("%s: not so; %d reports are kept", what, len(informer.GetStore().List()))
		}
	}
	await("the report of the Application is kept", func() bool { return has(work.Name(app)) })
	if n := len(informer.GetStore().List()); n != maxNames+1 || !has("later99") || has("later100") {
		t.Errorf("%d reports are kept, want %d", n, maxNames+1)
	}
	a.apps.(*indexed).apps = nil
	later.Modify(report(work.Name(app)))
	await("no Application accounts for it any more, and there is no room", func() bool { return !has(work.Name(app)) })
	later.Delete(report("invented0"))
	later.Modify(report("later100"))
	await("it has the place of one that is gone", func() bool { return has("later100") })
}

// live returns the memory in use, in bytes.
func live() int64 {
	gort.GC()
	var m gort.MemStats
	gort.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRejectedValuesAreCountedOnce: a rejected value is counted once for each observation, for any number of readers.
func TestRejectedValuesAreCountedOnce(t *testing.T) {
	key := work.Key(fixture.Application("counted").Obj())
	count := func() float64 { return value(t, rejectedValues.WithLabelValues("test.health")) }
	for _, step := range []struct {
		observation string
		fields      []string
		want        float64
	}{
		{"1", []string{"health"}, 1}, {"1", []string{"health"}, 1}, {"2", []string{"health"}, 2},
		{"2", nil, 2}, {"2", []string{"health"}, 3},
	} {
		for range 3 {
			noteRejected(t.Context(), "agent", key, step.observation, "test.", step.fields)
		}
		if got := count(); got != step.want {
			t.Errorf("%+v: counted %v", step, got)
		}
	}
}
