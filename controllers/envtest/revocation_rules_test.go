package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// repo is the repository of the Applications from ruled.
const repo = "https://git.example.com/apps.git"

// at returns a scene with an Application and its own AppProject. The namespace has no grants.
func at(t *testing.T, c *clusterv1.ManagedCluster) *scene {
	t.Helper()
	s := &scene{namespace: tenant(t), cluster: c}
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(c.Name).Finalizers(apis.FinalizerResources).Obj()
	s.app.Spec.Raw = []byte(`{"project":"default","source":{"repoURL":"` + repo + `","path":"a"},"destination":{"namespace":"guestbook"}}`)
	s.own(t, func(p *argocd.AppProjectSpec) {
		p.SourceNamespaces, p.SourceRepos = []string{s.namespace}, []string{repo}
	})
	return s
}

// deployed creates the Application of a scene, and lets the agent apply its work.
func (s *scene) deployed(t *testing.T) *workv1.ManifestWork {
	t.Helper()
	create(t, s.app)
	return atWork(t, s.app)
}

// ruled returns a scene with a delivered Application, permitted by a binding to the global set.
func ruled(t *testing.T) (*scene, *workv1.ManifestWork) {
	t.Helper()
	s := at(t, cluster(t))
	create(t, binding(s.namespace, globalSet))
	return s, s.deployed(t)
}

// forbid makes the AppProject of a scene refuse the Application's source.
func (s *scene) forbid(t *testing.T) {
	t.Helper()
	s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{"https://git.example.com/others.git"} })
}

// outlasted waits for the end of a grace period that begins now: a second, refused Application leaves its cluster.
func outlasted(t *testing.T) {
	t.Helper()
	s, w := ruled(t)
	s.forbid(t)
	expectDeleting(t, w)
}

// member makes a cluster a member of the set.
func member(set string) func(*clusterv1.ManagedCluster) {
	return func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: set} }
}

// absences are the objects that permit an Application on its cluster, and whose deletion ends the permission.
var absences = map[string]struct {
	// given creates the permission, and returns the function that removes it.
	given  func(*testing.T, *scene) func()
	reason string
	says   string
}{
	"an AppProject": {
		given: func(t *testing.T, s *scene) func() {
			create(t, binding(s.namespace, globalSet))
			return func() { take(t, project(s.app.Project())) }
		},
		reason: apis.ReasonProjectNotFound, says: "AppProject argocd/project-",
	},
	"a ManagedClusterSetBinding": {
		given: func(t *testing.T, s *scene) func() {
			b := binding(s.namespace, globalSet)
			create(t, b)
			return func() { take(t, b) }
		},
		reason: apis.ReasonClusterForbidden, says: "ManagedClusterSetBinding tenant-",
	},
	"one of two ManagedClusterSetBindings": {
		given: func(t *testing.T, s *scene) func() {
			other := clusterSet(unique("a-set"), &metav1.LabelSelector{MatchLabels: map[string]string{"env": "other"}})
			create(t, other)
			create(t, binding(s.namespace, other.Name))
			b := binding(s.namespace, globalSet)
			create(t, b)
			return func() { take(t, b) }
		},
		reason: apis.ReasonClusterForbidden, says: "ManagedClusterSetBinding tenant-",
	},
	"a ManagedClusterSet": {
		given: func(t *testing.T, s *scene) func() {
			set := clusterSet(unique("set"), &metav1.LabelSelector{})
			create(t, set)
			create(t, binding(s.namespace, set.Name))
			return func() { take(t, set) }
		},
		reason: apis.ReasonClusterForbidden, says: "ManagedClusterSet set-",
	},
	"the label of a ManagedCluster": {
		given: func(t *testing.T, s *scene) func() {
			set := clusterSet(unique("set"), nil)
			create(t, set)
			create(t, binding(s.namespace, set.Name))
			edit(t, s.cluster, member(set.Name))
			return func() {
				edit(t, s.cluster, func(c *clusterv1.ManagedCluster) { delete(c.Labels, clusterv1beta2.ClusterSetLabel) })
			}
		},
		reason: apis.ReasonClusterForbidden, says: "label " + clusterv1beta2.ClusterSetLabel,
	},
	"a PlacementDecision": {
		given: func(t *testing.T, s *scene) func() {
			d := decision(t, s.namespace, s.cluster.Name)
			return func() { take(t, d) }
		},
		reason: apis.ReasonClusterForbidden, says: "PlacementDecision",
	},
	"a cluster in a PlacementDecision": { // as for an unreachable cluster
		given: func(t *testing.T, s *scene) func() {
			d := decision(t, s.namespace, s.cluster.Name)
			return func() { choose(t, d, "another") }
		},
		reason: apis.ReasonClusterForbidden, says: "PlacementDecision",
	},
	"the address of a cluster": {
		given: func(t *testing.T, s *scene) func() {
			const address = "https://mine.example.com"
			create(t, binding(s.namespace, globalSet))
			s.allow(t, func(p *argocd.AppProjectSpec) {
				p.Destinations = []argocd.ProjectDestination{{Server: address, Namespace: "*"}}
			})
			addressed(t, s.cluster.Name, address)
			return func() { addressed(t, s.cluster.Name, "") }
		},
		reason: apis.ReasonDestinationForbidden, says: "set the cluster's address in the annotation " + apis.AnnotationServer + " of Namespace cluster-",
	},
}

// TestAbsenceRemovesNothing: a missing permission is not a refusal, and removes nothing from a cluster.
func TestAbsenceRemovesNothing(t *testing.T) {
	start(t, deleting)
	for title, tc := range absences {
		t.Run(title, func(t *testing.T) {
			s := at(t, cluster(t))
			gone := tc.given(t, s)
			w := s.deployed(t)
			expectAllowed(t, s.app)
			gone()
			expectForbidden(t, s.app, tc.reason, tc.says)
			edit(t, s.app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
			outlasted(t)
			if now := get(t, w.DeepCopy()); now == nil || !now.DeletionTimestamp.IsZero() {
				t.Fatal("it was taken off its cluster")
			} else if now.Generation != w.Generation {
				t.Error("what runs was updated")
			}
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "keeps the Application unchanged")
			expectForbidden(t, s.app, tc.reason, tc.says)
		})
	}
}

// decision creates a PlacementDecision with a cluster.
func decision(t *testing.T, namespace, cluster string) *clusterv1beta1.PlacementDecision {
	t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "d"}}
	create(t, d)
	choose(t, d, cluster)
	return d
}

// changedProject returns a permission that a change of the AppProject ends.
func changedProject(change func(*argocd.AppProjectSpec)) func(*testing.T, *scene) func() {
	return func(t *testing.T, s *scene) func() {
		create(t, binding(s.namespace, globalSet))
		return func() { s.allow(t, change) }
	}
}

// refusals are rules that first permit an Application on its cluster, and then refuse the Application.
var refusals = map[string]func(*testing.T, *scene) func(){
	"the AppProject's repositories": changedProject(func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{"https://git.example.com/others.git"} }),
	"the AppProject's namespaces":   changedProject(func(p *argocd.AppProjectSpec) { p.SourceNamespaces = []string{"others"} }),
	"the AppProject's destinations": changedProject(func(p *argocd.AppProjectSpec) {
		p.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "others"}}
	}),
	"the AppProject's destinations, of which one is the hub": changedProject(func(p *argocd.AppProjectSpec) {
		p.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "others"}, {Server: "!" + apis.InClusterServer, Namespace: "others"}}
	}),
	"the ManagedCluster, which is of another set": func(t *testing.T, s *scene) func() {
		set := clusterSet(unique("set"), nil)
		create(t, set)
		create(t, binding(s.namespace, set.Name))
		edit(t, s.cluster, member(set.Name))
		return func() { edit(t, s.cluster, member("another")) }
	},
	"the ManagedClusterSet, which selects others": func(t *testing.T, s *scene) func() {
		set := clusterSet(unique("set"), &metav1.LabelSelector{})
		create(t, set)
		create(t, binding(s.namespace, set.Name))
		return func() {
			edit(t, set, func(set *clusterv1beta2.ManagedClusterSet) {
				set.Spec.ClusterSelector.LabelSelector.MatchLabels = map[string]string{"env": "others"}
			})
		}
	},
	"the AppProject, where the binding is missing": func(t *testing.T, s *scene) func() {
		b := binding(s.namespace, globalSet)
		create(t, b)
		return func() { take(t, b); s.forbid(t) }
	},
}

// TestARefusalRemoves: an existing object that refuses the Application removes the Application from its cluster.
func TestARefusalRemoves(t *testing.T) {
	start(t, deleting)
	for title, given := range refusals {
		t.Run(title, func(t *testing.T) {
			s := at(t, cluster(t))
			refuse := given(t, s)
			w := s.deployed(t)
			refuse()
			expectDeleting(t, w)
			NewWithT(t).Eventually(func() []string { return eventReasons(t, s.app) }, soon, tick).Should(ContainElement(apis.ReasonRevoked))
		})
	}
}
