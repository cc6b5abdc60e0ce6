package trim_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// decoded returns a copy of an object as an informer decodes objects: without shared parts.
func decoded[T any](t testing.TB, obj *T) *T {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func reported(t testing.TB) *workv1.ManifestWork {
	app := fixture.Application("guestbook").ApplicationSet("set").Obj()
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	w.Status = fixture.Feedback(work.Identifier(app)).Healthy("53e28ff20cc530b9ada2173fbbd64d48338583ba").
		Integer("operationStateRetryCount", 2).Boolean("operationStateAutomated", true).Obj()
	w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "work-agent"}}
	w.Annotations[lastApplied] = "{}"
	return w
}

// TestTransformsKeepTheObject: except for the parts dropped on purpose, a transform does not change an object.
func TestTransformsKeepTheObject(t *testing.T) {
	dropped := cmpopts.IgnoreMapEntries(func(key, _ string) bool { return key == lastApplied })
	noManaged := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields")
	noTime := cmp.FilterPath(func(p cmp.Path) bool {
		if last, ok := p.Last().(cmp.StructField); !ok || last.Name() != "LastTransitionTime" {
			return false
		}
		c, ok := p.Index(-2).Values()
		return ok.IsValid() && c.Interface().(metav1.Condition).Type != feedback.ConditionSynced
	}, cmp.Ignore())

	w := reported(t)
	got, err := trim.Work(decoded(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, w), got, dropped, noManaged, noTime); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
	if m := got.(*workv1.ManifestWork); m.ManagedFields != nil || m.Annotations[lastApplied] != "" {
		t.Error("what nobody reads was kept")
	}

	app := fixture.Application("guestbook").ApplicationSet("set").Condition("SyncError", "no").Annotation(lastApplied, "{}").
		Finalizers("resources-finalizer.argocd.argoproj.io").Unknown("newer", `{"a":1}`).Obj()
	app.Status.Health = argocd.Health{Status: "Healthy", LastTransitionTime: "2026-01-02T03:04:05Z"}
	app.Status.Sync = &argocd.Sync{Status: "Synced", Revisions: []string{"a", "b"}}
	app.Status.OperationState = &argocd.OperationState{Phase: "Succeeded", StartedAt: "2026-01-02T03:04:05Z", FinishedAt: "2026-01-02T03:04:06Z",
		SyncResult: &argocd.SyncResult{Revision: "a"}}
	if got, err = trim.Application(decoded(t, app)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, app), got, dropped); diff != "" {
		t.Errorf("Application (-want +got):\n%s", diff)
	}
}

// TestRulesAreShared: works share their rules, with and without the volatile values.
func TestRulesAreShared(t *testing.T) {
	app := fixture.Application("guestbook").Sources(2).Obj()
	for _, volatile := range []bool{false, true} {
		var rules [2]*workv1.JsonPath
		var conditions [2]*workv1.ConditionRule
		for i := range rules {
			w, err := work.Render(app, work.Requests{Volatile: volatile})
			if err != nil {
				t.Fatal(err)
			}
			got, err := trim.Work(decoded(t, w))
			if err != nil {
				t.Fatal(err)
			}
			config := &got.(*workv1.ManifestWork).Spec.ManifestConfigs[0]
			rules[i] = &config.FeedbackRules[len(config.FeedbackRules)-1].JsonPaths[0]
			conditions[i] = &config.ConditionRules[0]
		}
		if rules[0] != rules[1] || conditions[0] != conditions[1] {
			t.Errorf("volatile %t: each work has its own", volatile)
		}
	}
}

// TestSecondPassWritesNothing: a second pass of an object does not write to the shared parts. The race detector finds a
// write.
func TestSecondPassWritesNothing(t *testing.T) {
	again := func(obj any, transform func(any) (any, error)) {
		if _, err := transform(obj); err != nil {
			t.Error(err)
		}
	}
	app := fixture.Application("guestbook").ApplicationSet("set").Finalizers("resources-finalizer.argocd.argoproj.io").Obj()
	apps := [2]*argocd.Application{decoded(t, app), decoded(t, app)}
	works := [2]*workv1.ManifestWork{reported(t), reported(t)}
	for i := range 2 {
		again(apps[i], trim.Application)
		again(works[i], trim.Work)
	}
	var done sync.WaitGroup
	for i := range 2 {
		done.Go(func() { again(apps[i], trim.Application) })
		done.Go(func() { again(works[i], trim.Work) })
	}
	done.Wait()
}

func TestCluster(t *testing.T) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1", Labels: map[string]string{"env": "dev"}}}
	cluster.Spec.HubAcceptsClient = true
	cluster.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: "https://cluster1"}}
	cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue}}
	want := decoded(t, cluster)
	cluster.Status.Version.Kubernetes = "v1.35.4"
	got, err := trim.Cluster(decoded(t, cluster))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNamespace: a hub has many Namespaces, and most have no used annotation or label.
func TestNamespace(t *testing.T) {
	full := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "cluster1", UID: "u", ResourceVersion: "7",
		Annotations:   map[string]string{apis.AnnotationPaused: "true", apis.AnnotationServer: "https://c1", apis.AnnotationSource: "hub", "note": "x"},
		Labels:        map[string]string{apis.LabelArgoNamespace: "true", "team": "a"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, Finalizers: []string{"x"},
	}}
	want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "cluster1", UID: "u", ResourceVersion: "7",
		Annotations: map[string]string{apis.AnnotationPaused: "true", apis.AnnotationServer: "https://c1", apis.AnnotationSource: "hub"},
		Labels:      map[string]string{apis.LabelArgoNamespace: "true"},
	}}
	got, err := trim.Namespace(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestObjectsOfOtherTypes: an object of a different type, such as an informer's tombstone, passes unchanged.
func TestObjectsOfOtherTypes(t *testing.T) {
	for _, transform := range []func(any) (any, error){trim.Application, trim.Work, trim.Cluster, trim.Namespace, trim.Outline} {
		if got, err := transform("tombstone"); got != "tombstone" || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestOutline: of an Application that Towline does not manage, the cache holds next to nothing before the deletion.
func TestOutline(t *testing.T) {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "pushed", ResourceVersion: "1", Labels: map[string]string{"a": "b"},
		Annotations: map[string]string{apis.AnnotationSkipReconcile: "true", lastApplied: "{}"}, Finalizers: []string{"x"},
	}}
	outline := func() *metav1.PartialObjectMetadata {
		got, err := trim.Outline(decoded(t, m))
		if err != nil {
			t.Fatal(err)
		}
		return got.(*metav1.PartialObjectMetadata)
	}
	want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "pushed", ResourceVersion: "1", Annotations: map[string]string{apis.AnnotationSkipReconcile: "true"},
	}}
	if diff := cmp.Diff(want, outline()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Annotations[apis.AnnotationPaused] = "true"
	want.Annotations = map[string]string{apis.AnnotationSkipReconcile: "true", apis.AnnotationPaused: "true"}
	if diff := cmp.Diff(want, outline()); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
	delete(m.Annotations, apis.AnnotationPaused)
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if got := outline(); got.DeletionTimestamp == nil || len(got.Annotations) != 2 || len(got.Finalizers) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestForeignWork: a work unlike Towline's works, or with an invalid status, stays unchanged.
func TestForeignWork(t *testing.T) {
	for _, text := range []string{
		`{"metadata":{"name":"w"}}`,
		`{"spec":{"manifestConfigs":[{"feedbackRules":[{"type":"WellKnownStatus"}]},{}]}}`,
		`{"spec":{"manifestConfigs":[{"feedbackRules":[{"type":"JSONPaths","jsonPaths":[{"name":"a","path":".b"}]}],"updateStrategy":{"type":"Update"}}]}}`,
		`{"status":{"resourceStatus":{"manifests":[{"statusFeedback":{"values":[{"name":"healthStatus","fieldValue":{"type":"String"}}]}}]}}}`,
	} {
		w, want := &workv1.ManifestWork{}, &workv1.ManifestWork{}
		if err := json.Unmarshal([]byte(text), w); err != nil {
			t.Fatal(err)
		}
		w.DeepCopyInto(want)
		if got, err := trim.Work(w); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v\n%s", text, err, cmp.Diff(want, got))
		}
	}
}

func BenchmarkWork(b *testing.B) {
	data, err := json.Marshal(reported(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w := &workv1.ManifestWork{}
		if err := json.Unmarshal(data, w); err != nil {
			b.Fatal(err)
		}
		if _, err := trim.Work(w); err != nil {
			b.Fatal(err)
		}
	}
}
