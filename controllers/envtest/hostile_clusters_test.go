package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// rewritten changes a ManagedCluster as its own agent may. The agent may write the whole object.
func rewritten(t *testing.T, name string, change func(*clusterv1.ManagedCluster)) {
	t.Helper()
	edit(t, managedCluster(name), func(c *clusterv1.ManagedCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		change(c)
	})
}

func pausesItself(c *clusterv1.ManagedCluster) { c.Annotations[apis.AnnotationPaused] = "true" }

// TestAClusterCannotPauseItself: with a pause, the cluster would keep Applications that tenants delete, delete by
// force, or lose the permission for.
func TestAClusterCannotPauseItself(t *testing.T) {
	start(t, deleting)
	for title, do := range map[string]func(*testing.T, *argocd.Application, *workv1.ManifestWork, func()){
		"a change": func(t *testing.T, app *argocd.Application, w *workv1.ManifestWork, _ func()) {
			expectNoNotice(t, app, apis.ConditionPausedWarning)
			edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
			NewWithT(t).Eventually(func() string { return string(get(t, w).Spec.Workload.Manifests[0].Raw) }, soon, tick).
				Should(ContainSubstring(`"note":"x"`))
		},
		"a deletion": func(t *testing.T, app *argocd.Application, w *workv1.ManifestWork, _ func()) {
			remove(t, app)
			expectDeleting(t, w)
		},
		"a deletion by force": func(t *testing.T, app *argocd.Application, _ *workv1.ManifestWork, _ func()) {
			remove(t, app)
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
			expectGone(t, app)
		},
		"a revocation": func(t *testing.T, _ *argocd.Application, w *workv1.ManifestWork, revoke func()) {
			revoke()
			expectDeleting(t, w)
		},
	} {
		t.Run(title, func(t *testing.T) {
			s, w := ruled(t)
			rewritten(t, s.cluster.Name, pausesItself)
			settled(t)
			do(t, s.app, w, func() { s.forbid(t) })
		})
	}
}

// TestAClusterCannotKeepACredential: a cluster cannot keep a revoked credential by a pause of the cluster.
func TestAClusterCannotKeepACredential(t *testing.T) {
	start(t)
	s, repo := repoSecret(t)
	app := webApp(t, cluster(t), argocd.DefaultProject, repo).Obj()
	create(t, app)
	key := dependency.CredentialKey(app.Cluster(), s.Name)
	expectDependency(t, key, carries(secretWith(t, password)))
	rewritten(t, app.Cluster(), pausesItself)
	settled(t)
	take(t, s)
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return dependencyWork(t, key) }, soon, tick).Should(BeNil())
}

// TestAClusterCannotChooseItsAddress: an AppProject knows a cluster by name, and by the address from the hub's
// administrators. Without an administrators' address, no address permits the cluster, and any forbidden address forbids
// the cluster.
func TestAClusterCannotChooseItsAddress(t *testing.T) {
	start(t)
	const mine, theirs = "https://mine.example.com:6443", "https://theirs.example.com:6443"
	claims := func(url string) func(*clusterv1.ManagedCluster) {
		return func(c *clusterv1.ManagedCluster) {
			c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: url, CABundle: []byte("x")}}
		}
	}
	isTheHub := func(c *clusterv1.ManagedCluster) { c.Labels[apis.LabelLocalCluster] = "true" }
	to := func(server string) argocd.ProjectDestination {
		return argocd.ProjectDestination{Server: server, Namespace: "guestbook"}
	}
	for title, tc := range map[string]struct {
		destinations []argocd.ProjectDestination
		attack       func(*clusterv1.ManagedCluster)
		said         string // the address that permits the Application
	}{
		"to be permitted":                    {[]argocd.ProjectDestination{to(theirs)}, claims(theirs), theirs},
		"not to be forbidden":                {[]argocd.ProjectDestination{to("*"), to("!" + mine)}, claims(theirs), theirs},
		"to be the hub, not to be forbidden": {[]argocd.ProjectDestination{to("*"), to("!" + mine)}, isTheHub, theirs},
	} {
		t.Run(title, func(t *testing.T) {
			s := &scene{namespace: tenant(t), cluster: cluster(t)}
			create(t, binding(s.namespace, globalSet))
			s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).
				Annotation(apis.AnnotationAppNamespace, "elsewhere").Obj()
			s.own(t, func(p *argocd.AppProjectSpec) {
				p.SourceNamespaces, p.Destinations = []string{s.namespace}, tc.destinations
			})
			rewritten(t, s.cluster.Name, tc.attack)
			create(t, s.app)
			expectForbidden(t, s.app, apis.ReasonDestinationForbidden, "spec.destinations")
			settled(t)
			if workOf(t, s.app) != nil {
				t.Fatal("it was sent")
			}
			rewritten(t, s.cluster.Name, func(c *clusterv1.ManagedCluster) { delete(c.Labels, apis.LabelLocalCluster) })
			addressed(t, s.cluster.Name, tc.said)
			expectAllowed(t, s.app)
			addressed(t, s.cluster.Name, mine)
			expectForbidden(t, s.app, apis.ReasonDestinationForbidden, "spec.destinations")
		})
	}
}

// addressed sets the address of a cluster as the hub's administrators would.
func addressed(t *testing.T, cluster, address string) {
	t.Helper()
	ns := namespaceOf(cluster)
	edit(t, ns, func(o *corev1.Namespace) {
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[apis.AnnotationServer] = address
	})
}

// TestRuleAgainstTheHubForbidsNoOtherCluster: a rule against the hub's own cluster does not forbid a cluster without a
// known address.
func TestRuleAgainstTheHubForbidsNoOtherCluster(t *testing.T) {
	start(t, strict)
	s := &scene{namespace: tenant(t), cluster: cluster(t)}
	create(t, binding(s.namespace, globalSet))
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).Obj()
	s.own(t, func(p *argocd.AppProjectSpec) {
		p.SourceNamespaces = []string{s.namespace}
		p.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "*"}, {Server: "!" + apis.InClusterServer, Namespace: "*"}}
	})
	create(t, s.app)
	expectAllowed(t, s.app)
}
