package resourcetree

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// The destinations of the Application in these tests.
const byName, byServer, inCluster = `{"name":"one"}`, `{"server":"https://one.example.com/"}`, `{"server":"https://kubernetes.default.svc"}`

// permitted are the rules of a project for the namespace guestbook alone.
const permitted = `{"sourceRepos":["*"],"destinations":[{"name":"*","namespace":"guestbook"}]}`

// accessible returns a hub with all conditions of Access fulfilled: argocd-server may reach the Application's
// resources.
func accessible(t *testing.T) *fakeHub {
	t.Helper()
	trimmed, err := clustersecret.TrimPlace(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{apis.LabelClusterName: "cluster1"}},
		Data: map[string][]byte{
			"name": []byte("one"), "server": []byte("https://one.example.com"), "config": []byte(`{"bearerToken":"t"}`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeHub{secret: trimmed.(*corev1.Secret), settings: map[string]string{hubEnabled: "false"}}
	h.cluster = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}
	h.cluster.Spec.HubAcceptsClient = true
	h.bound = []clusterv1beta2.ManagedClusterSetBinding{{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "all"}}}
	h.project = &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "default"}}
	permit(t, h, permitted)
	goTo(h, byName)
	deliver(t, h)
	h.inventory = reports(service("guestbook", "own"), service("payments", "other"))
	return h
}

// permit sets the rules of the project.
func permit(t *testing.T, h *fakeHub, spec string) {
	t.Helper()
	if err := json.Unmarshal([]byte(spec), &h.project.Spec); err != nil {
		t.Fatal(err)
	}
}

// goTo sets the destination of the Application.
func goTo(h *fakeHub, destination string) {
	h.app = fixture.Application("guestbook").Cluster("cluster1").Obj()
	source, rest := `{"project":"default","source":{"repoURL":"https://git.example.com/apps.git"},"destination":`, `,"namespace":"guestbook"}}`
	h.app.Spec.Raw = []byte(source + strings.TrimSuffix(destination, "}") + rest)
	h.app.Status.Resources = []argocd.ResourceStatus{service("kube-system", "wished")}
}

// deliver creates the work of the Application, in the applied state.
func deliver(t *testing.T, h *fakeHub) {
	t.Helper()
	w, err := work.Render(h.app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	w.Status = fixture.Feedback(work.Identifier(h.app)).Obj()
	h.work = w
}

// TestLive: each condition of argocd-server's access to a cluster is added and removed, and the entry follows each
// time.
func TestLive(t *testing.T) {
	h := accessible(t)
	there, secret, bound, cluster := h.work, h.secret, h.bound, h.cluster
	s := &store{entries: map[string]string{}}
	checker := &grants.Checker{Reader: h, Clusters: grants.ClusterModes[0], ArgoCDNamespace: "argocd"}
	access := &Access{Reader: h, Paths: &Paths{Reader: h, Home: "argocd"}, Grants: checker}
	r := &Reconciler{Client: h, Store: s, Home: "argocd", Inventory: h, Access: access}
	for _, step := range []struct {
		what   string
		change func()
		live   bool
	}{
		{"a Secret with credentials, a grant, and an applied work", func() {}, true},
		{"the in-cluster address", func() { goTo(h, inCluster) }, false},
		{"the Secret's address", func() { goTo(h, byServer) }, true},
		{"a hub that argocd-server may read", func() { h.settings = nil }, false},
		{"one that it may not", func() { h.settings = map[string]string{hubEnabled: "false"} }, true},
		{"no Secret", func() { h.secret = nil }, false},
		{"the Secret again", func() { h.secret = secret }, true},
		{"another cluster", func() { h.app.Annotations[apis.AnnotationCluster] = "cluster2" }, false},
		{"the cluster again", func() { goTo(h, byName) }, true},
		{"no binding", func() { h.bound = nil }, false},
		{"the binding again", func() { h.bound = bound }, true},
		{"a project that forbids the namespace", func() { permit(t, h, `{"sourceRepos":["*"]}`) }, false},
		{"a project that permits it", func() { permit(t, h, permitted) }, true},
		{"no work", func() { h.work = nil }, false},
		{"a work that nobody applied", func() { h.work = there.DeepCopy(); h.work.Status = workv1.ManifestWorkStatus{} }, false},
		{"a work of another Application", func() {
			h.work = there.DeepCopy()
			h.work.Annotations[apis.AnnotationHubNamespace] = "other"
		}, false},
		{"the work again", func() { h.work = there }, true},
		{"no ManagedCluster", func() { h.cluster = nil }, false},
		{"a cluster that the hub does not accept", func() { h.cluster = cluster.DeepCopy(); h.cluster.Spec.HubAcceptsClient = false }, false},
		{"the cluster again", func() { h.cluster = cluster }, true},
		{"a spec that cannot be read", func() { h.app.Spec.Raw = []byte(`{"destination":{"name":"one"},"source":[]}`) }, false},
		{"the spec again", func() { goTo(h, byName) }, true},
		{"not asked for", func() { r.Access = nil }, false},
	} {
		step.change()
		name := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.entries[key]; strings.Contains(got, "on-its-cluster") == step.live || strings.Contains(got, "wished") {
			t.Errorf("%s: got %s", step.what, got)
		}
		if step.live && strings.Contains(s.entries[key], "other") {
			t.Errorf("%s: argocd-server reaches what the project does not permit: %s", step.what, s.entries[key])
		}
		if want := map[bool]time.Duration{true: liveExpiry, false: expiry}[step.live]; s.lasts != want || result.RequeueAfter > want/2 {
			t.Errorf("%s: lasts %s and is renewed after %s", step.what, s.lasts, result.RequeueAfter)
		}
	}
}

// TestStatusOfATenant: without a report, no entry shows the resources of an Application's status, live or not.
func TestStatusOfATenant(t *testing.T) {
	for title, change := range map[string]func(*fakeHub){
		"without a report":                  func(h *fakeHub) { h.inventory = nil },
		"without a grant or a report":       func(h *fakeHub) { h.inventory, h.bound = nil, nil },
		"with a report of single resources": func(h *fakeHub) { h.inventory.Detailed = false },
	} {
		h, s := accessible(t), &store{entries: map[string]string{}}
		change(h)
		checker := &grants.Checker{Reader: h, Clusters: grants.ClusterModes[0], ArgoCDNamespace: "argocd"}
		r := &Reconciler{Client: h, Store: s, Home: "argocd", Inventory: h,
			Access: &Access{Reader: h, Paths: &Paths{Reader: h, Home: "argocd"}, Grants: checker}}
		name := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
		if len(s.take()) > 0 || len(s.entries) > 0 {
			t.Errorf("%s: Redis has %v", title, s.entries)
		}
	}
}
