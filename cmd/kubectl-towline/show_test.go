package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/work"
)

// ago is the time of all test events and conditions, long ago so the shown age is stable during a slow test.
var ago = time.Now().Add(-5*24*time.Hour - time.Minute).UTC().Truncate(time.Second)

const commit = "53e28ff20cc530b9ada2173fbbd64d48338583ba"

// stage is a hub with an ApplicationSet on three clusters, and an Application without ApplicationSet on a missing
// cluster.
type stage struct {
	t         *testing.T
	namespace string
	apps      []*argocd.Application
}

// statusOf returns the status from a cluster for an Application with the health.
func statusOf(health string) argocd.Status {
	s := argocd.Status{
		Health: argocd.Health{Status: health}, Sync: &argocd.Sync{Status: "Synced", Revision: commit},
		OperationState: &argocd.OperationState{Phase: "Succeeded", StartedAt: ago.Format(time.RFC3339)},
		ReconciledAt:   ago.Format(time.RFC3339),
		Resources: []argocd.ResourceStatus{
			{Version: "v1", Kind: "Service", Namespace: "guestbook", Name: "ui", Status: "Synced", Health: &argocd.Health{Status: "Healthy"}},
			{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "ui", Status: "Synced", Health: &argocd.Health{Status: health}},
		},
	}
	if health == "Degraded" {
		s.Resources[1].Health.Message = "no image\x1b[31m"
	}
	return s
}

// newStage creates a hub whose objects have the name as prefix.
func newStage(t *testing.T, name string) *stage {
	t.Helper()
	s := &stage{t: t, namespace: name}
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	set := newApplicationSet()
	set.SetNamespace(name)
	set.SetName("guestbook")
	set.Object["spec"] = map[string]any{}
	set.Object["status"] = map[string]any{"applicationStatus": []any{
		map[string]any{"application": name + "-c1", "step": "1", "status": "Healthy"},
		map[string]any{"application": name + "-c2", "step": "2", "status": "Progressing"},
		map[string]any{"application": name + "-c3", "step": "2", "status": "Waiting"},
	}}
	create(t, &set.Unstructured)
	for i, health := range []string{"Healthy", "Degraded", "Healthy"} {
		cluster := fmt.Sprintf("%s-c%d", name, i+1)
		s.cluster(cluster, i < 2)
		b := fixture.Application(cluster).Namespace(name).Cluster(cluster).ApplicationSet("guestbook").Status(statusOf(health))
		if i == 2 {
			b.Condition(apis.ConditionClusterUnreachableWarning, "cluster "+cluster+" has not been available since noon")
		}
		s.app(b)
	}
	s.app(fixture.Application("tool").Namespace(name).Cluster("nowhere").
		Condition(apis.ConditionPropagationError, `there is no ManagedCluster "nowhere"`))
	s.report()
	return s
}

// cluster creates a managed cluster with a namespace and a Lease.
func (s *stage) cluster(name string, available bool) {
	s.t.Helper()
	create(s.t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	c := fixture.Cluster(name).Label("region", name[:2]).Obj()
	create(s.t, c)
	c.Status.Version.Kubernetes = "v1.33.1"
	c.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.NewTime(ago),
	}}
	if !available {
		c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = metav1.ConditionUnknown, "no Lease"
	}
	s.status(c)
	create(s.t, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: leaseName}, Spec: coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(ago))},
	})
	agent := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"towline-agent"},"spec":{"template":{"spec":{"containers":[` +
		`{"name":"agent","image":"registry:5000/towline:v1.2.3"}]}}}}`
	addon := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "addon-towline-agent-deploy-0"}}
	addon.Labels = map[string]string{addonLabel: agentAddon}
	addon.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(agent)}}}
	create(s.t, addon)
}

// status writes the status of an object.
func (s *stage) status(obj client.Object) {
	s.t.Helper()
	if err := admin.Status().Update(s.t.Context(), obj); err != nil {
		s.t.Fatal(err)
	}
}

// app creates an Application, and the ManifestWork if the Application got so far.
func (s *stage) app(b *fixture.ApplicationBuilder) {
	s.t.Helper()
	app := b.UID("").Obj()
	create(s.t, app)
	s.apps = append(s.apps, app)
	set, ok := app.ApplicationSet()
	if !ok {
		return
	}
	key := work.Key(app)
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{
		apis.LabelApplicationSetHash: work.SetHash(types.NamespacedName{Namespace: app.Namespace, Name: set}),
	}}}
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)}}}
	create(s.t, w)
	w.Status.Conditions = []metav1.Condition{{
		Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: w.Generation,
		LastTransitionTime: metav1.NewTime(ago),
	}}
	s.status(w)
}

// report creates the report of the ApplicationSet, as Towline does.
func (s *stage) report() {
	s.t.Helper()
	create(s.t, s.built())
}

func (s *stage) built() *v1alpha1.MulticlusterApplicationSetReport {
	set := report.NewSet(nil)
	for i, app := range s.apps {
		if _, ok := app.ApplicationSet(); !ok {
			continue
		}
		away := ""
		if i == 2 {
			away = "cluster " + app.Cluster() + " has not been available since noon"
		}
		seen := app.Status
		seen.Conditions = nil
		facts := &observed.Facts{Status: seen, Complete: true, Detailed: true, ObservedAt: metav1.NewTime(ago)}
		set.Put(client.ObjectKeyFromObject(app), report.Observe(app, facts, away, nil))
	}
	r := set.Build(types.NamespacedName{Namespace: s.namespace, Name: "guestbook"}, "", report.MaxBytes)
	report.Publish(r, nil, 0, metav1.NewTime(ago))
	return r
}

// event creates an event of Towline about an Application.
func (s *stage) event(app, eventType, reason, message string) {
	s.t.Helper()
	create(s.t, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.namespace, Name: app + "." + strings.ToLower(reason)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Application", Namespace: s.namespace, Name: app},
		Type:           eventType, Reason: reason, Message: message, ReportingController: "towline", ReportingInstance: "towline-0", Action: "Propagate",
		EventTime: metav1.NewMicroTime(ago), Count: 1, LastTimestamp: metav1.NewTime(ago), FirstTimestamp: metav1.NewTime(ago),
	})
}

// transcript runs commands as a user, and returns the output. It replaces names that change with each run.
func (s *stage) transcript(user string, commands ...string) []byte {
	s.t.Helper()
	var out strings.Builder
	for _, c := range commands {
		got := as(s.t, user, "", append(strings.Fields(c), "-n", s.namespace)...)
		fmt.Fprintf(&out, "$ kubectl towline %s\n%s%sexit code %d\n\n", c, got.out, got.errOut, got.code)
	}
	text := strings.ReplaceAll(out.String(), ago.Format(time.RFC3339), "AGO")
	for _, app := range s.apps {
		text = strings.ReplaceAll(text, work.Name(app), app.Name+"-00000")
	}
	return []byte(text)
}

var shown = []string{
	"status guestbook", "status guestbook --problems -o wide", "status guestbook -o name", "status appset/none", "status app/tool",
	"get apps", "get apps -o wide --cluster show-c2", "get apps --problems -o name", "get apps tool none", "get apps -l no=such",
	"tree guestbook", "tree guestbook --problems", "tree guestbook --compact", "tree show-c2", "tree tool", "tree none", "tree a/b",
	"matrix", "matrix --group-by region --problems", "clusters show-c2", "clusters none", "clusters --one-namespace",
	"clusters --one-namespace --problems",
	"events", "events guestbook", "events tool", "events --problems", "stats", "status guestbook -o xml", "status guestbook -w -o json",
}

// TestShow checks the output of each command, for an administrator and for a tenant.
func TestShow(t *testing.T) {
	s := newStage(t, "show")
	s.event("show-c1", corev1.EventTypeNormal, apis.ReasonPropagated, "created ManifestWork show-c1/show-c1")
	s.event("tool", corev1.EventTypeWarning, apis.ReasonClusterNotFound, `there is no ManagedCluster "nowhere"`)
	golden.Equal(t, "show.golden", s.transcript("", shown...))

	may(t, "show-tenant", "show",
		rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: []string{"get", "list"}})
	golden.Equal(t, "show-tenant.golden", s.transcript("show-tenant",
		"status guestbook", "get apps", "get apps -A", "tree guestbook --compact", "tree show-c2", "matrix --group-by region", "clusters",
		"clusters --one-namespace", "clusters show-c2 --one-namespace", "events", "stats"))
	golden.Equal(t, "show-stranger.golden", s.transcript("show-stranger", "status guestbook", "get apps", "tree guestbook", "matrix", "stats"))
}

// TestShowForPrograms checks that the JSON and YAML outputs have the views.
func TestShowForPrograms(t *testing.T) {
	s := newStage(t, "programs")
	for _, command := range []string{"status guestbook", "get apps", "tree guestbook", "matrix", "clusters --one-namespace", "events", "stats"} {
		for _, format := range []string{"json", "yaml"} {
			got := as(t, "", "", append(strings.Fields(command), "-n", s.namespace, "-o", format)...)
			if got.errOut != "" || !strings.Contains(got.out, "programs") && !strings.HasPrefix(command, "events") {
				t.Errorf("%s -o %s: %+v", command, format, got)
			}
		}
	}
}

// TestTruncatedReport checks that omitted Applications of a report are counted. On request, they are read from the
// Applications.
func TestTruncatedReport(t *testing.T) {
	s := newStage(t, "truncated")
	r := current(t, &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: "truncated", Name: "guestbook"}})
	r.Statuses.ClusterConditions, r.Statuses.Summary.Omitted = r.Statuses.ClusterConditions[:1], "2"
	if err := admin.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "truncated.golden", s.transcript("", "status guestbook", "status guestbook --all", "matrix"))
	if err := admin.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "no-report.golden", s.transcript("", "status guestbook", "matrix --problems"))
}

// TestComplete checks that completions are names from the hub.
func TestComplete(t *testing.T) {
	newStage(t, "complete")
	for args, want := range map[string]string{
		"tree t":                  "tool",
		"tree g":                  "guestbook",
		"why complete-c1":         "complete-c1",
		"status ":                 "guestbook",
		"clusters complete-c2":    "complete-c2",
		"get apps --cluster comp": "complete-c1\ncomplete-c2\ncomplete-c3",
		"get --namespace complet": "complete\ncomplete-c1\ncomplete-c2\ncomplete-c3",
	} {
		// A shell waits for three seconds. A busy machine may need longer.
		list := append([]string{"__completeNoDesc", "-n", "complete", "--request-timeout", "1m"}, strings.Split(args, " ")...)
		if got := as(t, "", "", list...); !strings.HasPrefix(got.out, want+"\n:") {
			t.Errorf("%s: %q, want %q", args, got.out, want)
		}
	}
	if got := as(t, "complete-stranger", "", "__completeNoDesc", "-n", "complete", "tree", ""); !strings.HasPrefix(got.out, ":") {
		t.Errorf("for a stranger: %q", got.out)
	}
}

// TestMatrixWithoutReport checks that an ApplicationSet without a report is in the matrix, besides ApplicationSets
// with a report.
func TestMatrixWithoutReport(t *testing.T) {
	s := newStage(t, "unreported")
	set := newApplicationSet()
	set.SetNamespace(s.namespace)
	set.SetName("newcomer")
	set.Object["spec"] = map[string]any{}
	create(t, &set.Unstructured)
	s.app(fixture.Application("newcomer-c1").Namespace(s.namespace).Cluster("unreported-c1").ApplicationSet("newcomer").Status(statusOf("Healthy")))
	got := as(t, "", "", "matrix", "-n", s.namespace)
	if got.code != exitGood || !strings.Contains(got.out, "/guestbook") || !strings.Contains(got.out, "/newcomer") {
		t.Errorf("got %+v", got)
	}
	may(t, "of-reports", s.namespace, rbacv1.PolicyRule{APIGroups: []string{"argoproj.io", "apps.open-cluster-management.io"},
		Resources: []string{"applicationsets", "multiclusterapplicationsetreports"}, Verbs: []string{"list"}})
	got = as(t, "of-reports", "", "matrix", "-n", s.namespace)
	if got.code != exitGood || !strings.Contains(got.out, "/guestbook") || !strings.Contains(got.out, "not allowed: list applications.argoproj.io") {
		t.Errorf("who may not read Applications: got %+v", got)
	}
}
