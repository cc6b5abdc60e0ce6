package dependency

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestProject(t *testing.T) {
	deleted := webApp().Deleted(now)
	decides(t, map[string]row{
		"needed": {is: ofProject(used(webApp())), want: []string{"create"}, after: orphans},
		"needed by an Application that is not sent":   {is: ofProject(used(webApp(), unsent)), want: []string{"create"}},
		"needed, and not read":                        {is: ofProject(used(webApp()), asked), want: []string{"needs project"}},
		"there":                                       {is: ofProject(used(webApp()), there()), want: []string{}},
		"needed by no Application":                    {is: ofProject(), want: []string{}},
		"needed by an Application that is forbidden":  {is: ofProject(used(webApp(), forbidden)), want: []string{}},
		"needed by an Application that is paused":     {is: ofProject(used(webApp(), pausedApp)), want: []string{}},
		"needed by an Application that is deleted":    {is: ofProject(used(deleted)), want: []string{}},
		"needed by an Application that asks for none": {is: ofProject(used(webApp().NoAnnotation(apis.AnnotationSkipReconcile))), want: []string{}},
		"one of the hub that is gone":                 {is: ofProject(used(webApp()), there(), func(s *situation) { s.Project = nil }), want: []string{}},
		"on no known cluster":                         {is: ofProject(used(webApp()), noCluster), want: []string{}},
		"on a paused cluster":                         {is: ofProject(used(webApp()), pausedCluster), want: []string{}},
		"going":                                       {is: ofProject(used(webApp()), there(going)), want: []string{}},
		"not applied as it is": {
			is: ofProject(used(webApp()), there(func(w *workv1.ManifestWork) { w.Labels = nil })), want: []string{"update"}},
		"without the label of tracking": {
			is: ofProject(used(webApp()), there(), func(s *situation) {
				s.TrackingLabel = "team"
				s.Project.Labels = map[string]string{"team": "x"}
			}), want: []string{}},
		"kept on the hub": {
			is: ofProject(used(webApp()), there(), func(s *situation) {
				s.Project.Annotations = map[string]string{apis.AnnotationPropagate: "false"}
			}), want: []string{"delete"}},
		"of a cluster that shares the hub's Argo CD": {is: ofProject(used(webApp()), there(unseen), sharedArgoCD), want: []string{}},
		"of a cluster that shares it, seen":          {is: ofProject(used(webApp()), there(), sharedArgoCD), want: []string{"delete"}},
		"where none travel": {
			is:   ofProject(used(webApp()), there(), func(s *situation) { s.Projects = false }),
			want: []string{"delete"}},
		"unused": {is: ofProject(there()), want: []string{"final update"}, after: func(w *workv1.ManifestWork) bool {
			return orphans(w) && !strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), "sourceNamespaces")
		}},
		"unused, in its last state": {is: ofProject(there(finalState)), want: []string{"delete"}},
		"unused, not seen":          {is: ofProject(there(finalState, unseen)), want: []string{}},
		"unused, and not to be read": {
			is: ofProject(there(func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests = nil })), want: []string{"delete"}},
		"used there": {is: ofProject(there(), carrying(workOf(webApp().Obj()))), want: []string{}},
		"used there, by one that left": {
			is: ofProject(there(), carrying(releasedWork(webApp().Obj()))), want: []string{"update"}, after: namesWeb},
		"a request, not read": {
			is: ofProject(there(), asked, carrying(requestFor(webApp().Obj()))), want: []string{"needs requested"}},
		"a request of another": {is: ofProject(there(), carrying(requestFor(webApp().Obj()))), want: []string{}},
		"a request of an Application that uses the dependency": {
			is: ofProject(there(), carrying(requestFor(webApp().Obj())), requesting), want: []string{}},
		"not brought":        {is: ofProject(used(webApp())), want: []string{"create"}, after: unforced},
		"brought":            {is: ofProject(used(webApp()), brought), want: []string{"create"}, after: Forced},
		"brought, and there": {is: ofProject(used(webApp()), there(), brought), want: []string{}},
		"brought, and refused": {
			is: ofProject(used(webApp()), there(refusing), brought), want: []string{"update"}, after: Forced},
		"brought, and not read": {
			is: ofProject(used(webApp()), there(refusing), onlyProject), want: []string{"needs older"}},
		"refused": {is: ofProject(used(webApp()), there(refusing)), want: []string{}},
		"taken": {is: ofProject(used(webApp()), there(Force, func(w *workv1.ManifestWork) { w.Labels = nil })),
			want: []string{"update"}, after: Forced},
		"taken, and unused": {is: ofProject(there(Force)), want: []string{"final update"}, after: Forced},
		"too large": {is: ofProject(used(webApp()), func(s *situation) {
			s.Project.Labels = map[string]string{"x": strings.Repeat("x", 600<<10)}
		}), want: []string{}},
		"with what is no list": {is: ofProject(used(webApp()), func(s *situation) {
			s.Project.Spec.Raw = []byte(`{"destinations":{}}`)
		}), want: []string{"error"}},
		"no dependency's": {is: of(ProjectKey(cluster, "web"), func(s *situation) { s.Key.Name = "web-12345" }), want: []string{}},
	})
}

func onlyProject(s *situation) { s.Known = FactProject }

func requesting(s *situation) { s.Requested = []Spec{ReadSpec(webApp().Obj())} }

func TestCredential(t *testing.T) {
	operation := webApp().Spec(`{"project":"web","source":{"repoURL":"https://git.example.com/open.git"}}`).
		Operation(`{"sync":{"source":{"repoURL":"https://git.example.com/web.git"}}}`)
	decides(t, map[string]row{
		"needed": {is: ofCredential(used(webApp())), want: []string{"create"}},
		"there":  {is: ofCredential(used(webApp()), there()), want: []string{}},
		"needed by an Application that is not sent": {is: ofCredential(used(webApp(), unsent)), want: []string{}},
		"needed by an Application that is forbidden": {
			is: ofCredential(used(webApp(), forbidden), there(), carrying(workOf(webApp().Obj()))), want: []string{}},
		"needed for an operation": {
			is: ofCredential(used(operation, func(u *User) { u.OperationPermitted = true })), want: []string{"create"}},
		"needed for an operation, forbidden": {is: ofCredential(used(operation)), want: []string{}},
		"neither there nor on the hub":       {is: ofCredential(noSecret), want: []string{}},
		"just gone from the hub":             {is: ofCredential(there(), missingFor(time.Second)), want: []string{"after 59s"}},
		"gone from the hub, with other grace": {
			is:   ofCredential(there(), missingFor(time.Second), func(s *situation) { s.Grace = 2 * time.Second }),
			want: []string{"after 1s"}},
		"gone from the hub": {is: ofCredential(there(), missingFor(time.Hour)), want: []string{"delete"}},
		"gone, and used there": {
			is:   ofCredential(there(), missingFor(time.Hour), carrying(workOf(webApp().Obj()))),
			want: []string{"delete"}},
		"gone by the cache alone": {
			is: ofCredential(there(), missingFor(time.Hour), func(s *situation) { s.SecretBehind = true }), want: []string{"after 100ms"}},
		"kept on the hub": {is: ofCredential(used(webApp()), there(), keptSecret), want: []string{"delete"}},
		"kept on the hub, and released before": {
			is: ofCredential(there(releasedToWeb), keptSecret), want: []string{"final update"}, after: removes},
		"kept, and it is to be owned again": {
			is: ofCredential(there(releasedToWeb, setTaken), keptSecret), want: []string{"delete"}},
		"of a cluster that shares the hub's Argo CD": {is: ofCredential(used(webApp()), there(), sharedArgoCD), want: []string{"delete"}},
		"on no known cluster":                        {is: ofCredential(used(webApp()), there(), noCluster), want: []string{}},
		"unused":                                     {is: ofCredential(there()), want: []string{"delete"}},
		"unused, on a paused cluster":                {is: ofCredential(there(), pausedCluster), want: []string{}},
		"unused, and edited": {
			is:   ofCredential(there(), carrying(workOf(webApp().Obj())), func(s *situation) { releasedToWeb(s.Work) }),
			want: []string{"update"}, after: namesNobody},
		"unused, and a released Application used it": {
			is: ofCredential(there(), carrying(releasedWork(webApp().Obj()))), want: []string{"update"}, after: namesWeb},
		"released, and its work is gone":    {is: ofCredential(there(releasedToWeb)), want: []string{"delete"}},
		"released, and refused there":       {is: ofCredential(there(releasedToWeb, refusing, untouched)), want: []string{"delete"}},
		"released, and refused there since": {is: ofCredential(there(releasedToWeb, refusing)), want: []string{"final update"}},
		"released, and sent again": {
			is: ofCredential(used(webApp()), there(releasedToWeb), carrying(workOf(webApp().Obj()))), want: []string{"update"}, after: namesNobody},
		"released, and shared with a sent Application": {
			is:   ofCredential(used(webApp().UID("1")), there(), carrying(releasedWork(oldApp()))),
			want: []string{"update"}, after: func(w *workv1.ManifestWork) bool { return len(ReleasedTo(w)) == 1 }},
		"a request": {is: ofCredential(there(), carrying(requestFor(webApp().Obj()))), want: []string{}},
		"a request, not read": {
			is: ofCredential(there(), asked, carrying(requestFor(webApp().Obj()))), want: []string{"needs requested"}},
		"too large": {is: ofCredential(used(webApp()), func(s *situation) {
			s.Secret.Data["key"] = make([]byte, 600<<10)
		}), want: []string{}},
	})
}

func TestObjects(t *testing.T) {
	missing := func(s *situation) { s.Named = nil }
	unpermitted := func(s *situation) {
		s.Project.Spec.Raw = []byte(`{"namespaceResourceBlacklist":[{"group":"","kind":"Secret"}]}`)
	}
	impersonating := func(s *situation) {
		s.Project.Spec.Raw = []byte(`{"destinationServiceAccounts":[{"server":"*","namespace":"*","defaultServiceAccount":"web"}]}`)
	}
	decides(t, map[string]row{
		"past the project's ServiceAccounts": {
			is: ofObjects(naming("secret/db"), impersonating, asked), want: []string{apis.ReasonDependencyForbidden},
			says: "AppProject argocd/web limits deployments to the rights of its spec.destinationServiceAccounts"},
		"past the project's ServiceAccounts, and there": {
			is:   ofObjects(naming("secret/db"), there(), func(s *situation) { s.Users[0].App = naming("secret/tls").Obj() }, impersonating),
			want: []string{apis.ReasonDependencyForbidden}, says: apis.AnnotationExecutor},
		"within an executor's rights": {
			is:   ofObjects(naming("secret/db"), impersonating, func(s *situation) { s.Executor.Name = "deployer" }),
			want: []string{"create"}, after: func(w *workv1.ManifestWork) bool { return w.Spec.Executor != nil }},
		"an empty list of ServiceAccounts": {
			is:   ofObjects(naming("secret/db"), func(s *situation) { s.Project.Spec.Raw = []byte(`{"destinationServiceAccounts":[]}`) }),
			want: []string{"create"}},
		"named": {is: ofObjects(naming("secret/db,configmap/settings")), want: []string{"create"}},
		"under another name": {
			is: ofObjects(naming("secret/db=credentials,secret/db")), want: []string{"create"}, after: lands("web/credentials", "web/db")},
		"behind the cluster, to a namespace that only another cluster permits": {
			is: ofObjects(naming("secret/db").Annotation(apis.AnnotationDestinationName, "edge-1"), func(s *situation) {
				s.Project.Spec.Destinations = []argocd.ProjectDestination{{Name: "edge-1", Namespace: "web"}}
			}),
			want: []string{apis.ReasonDependencyForbidden}, says: "does not permit namespace web of cluster cluster1"},
		"in another namespace": {
			is: ofObjects(naming("secret/db=other/db,configmap/settings=other/config")), want: []string{"create"}, after: lands("other/db", "other/config")},
		"in a namespace that the project does not permit": {
			is:   ofObjects(naming("secret/db=kube-system/db,configmap/settings"), onlyWeb),
			want: []string{"create", apis.ReasonDependencyForbidden}, says: "does not permit namespace kube-system of cluster cluster1",
			after: lands("web/settings")},
		"no destination namespace, and none is needed": {
			is: ofObjects(naming("secret/db=other/db").Spec(`{"project":"web"}`)), want: []string{"create"}, after: lands("other/db")},
		"two objects at one target": {
			is:   ofObjects(naming("secret/db"), there(), func(s *situation) { s.Users[0].App = naming("secret/db,secret/tls=db").Obj() }),
			want: []string{apis.ReasonDependencyInvalid}, says: "secret/db and secret/tls would both be web/db on the cluster"},
		"missing now, under another name": {
			is:   ofObjects(naming("secret/db=other/credentials,configmap/settings"), there(), missing),
			want: []string{apis.ReasonDependencyMissing}},
		"of the hub, in their own namespace by a target": {
			is:   ofObjects(naming("secret/db=argocd/copy"), func(s *situation) { s.Cluster.Hub = true }),
			want: []string{apis.ReasonDependencyInvalid}, says: "would overwrite themselves"},
		"named, and not read": {is: ofObjects(naming("secret/db"), asked), want: []string{"needs objects"}},
		"there":               {is: ofObjects(naming("secret/db"), there()), want: []string{}},
		"a second object is named": {
			is:   ofObjects(naming("secret/db"), there(), func(s *situation) { s.Users[0].App = naming("secret/tls").Obj() }),
			want: []string{"update"}},
		"no object is named": {is: ofObjects(webApp()), want: []string{}},
		"no object is named any more": {
			is:   ofObjects(naming("secret/db"), there(), func(s *situation) { s.Users[0].App = webApp().Obj() }),
			want: []string{"delete"}},
		"an object is missing": {
			is:   ofObjects(naming("secret/db,secret/none")),
			want: []string{"create", apis.ReasonDependencyMissing}, says: "the hub has no secret/none"},
		"all are missing": {is: ofObjects(naming("secret/none")), want: []string{apis.ReasonDependencyMissing}},
		"all objects are missing now": {
			is:   ofObjects(naming("secret/db,configmap/settings"), there(), missing),
			want: []string{apis.ReasonDependencyMissing}},
		"not permitted": {
			is:   ofObjects(naming("secret/db"), there(), unpermitted),
			want: []string{"delete", apis.ReasonDependencyForbidden}},
		"an object may not travel": {
			is:   ofObjects(naming("secret/db"), func(s *situation) { s.Named[Reference{Kind: SecretKind, Name: "db"}].SetAnnotations(nil) }),
			want: []string{apis.ReasonDependencyMissing}, says: "may not be sent to clusters"},
		"an odd word": {is: ofObjects(naming("pod/x")), want: []string{apis.ReasonDependencyInvalid}, says: "neither secret"},
		"where none travel": {
			is:   ofObjects(naming("secret/db"), there(), func(s *situation) { s.Objects = false }),
			want: []string{"delete", apis.ReasonDependencyInvalid}, says: "--propagate=app-projects,namespaces,objects"},
		"without a namespace": {
			is:   ofObjects(naming("secret/db").Spec(`{"project":"web"}`)),
			want: []string{apis.ReasonDependencyInvalid}, says: "spec.destination.namespace"},
		"of the hub, where they are": {
			is:   ofObjects(naming("secret/db").Spec(`{"project":"web","destination":{"namespace":"argocd"}}`), func(s *situation) { s.Cluster.Hub = true }),
			want: []string{apis.ReasonDependencyInvalid}, says: "would overwrite themselves"},
		"originals of the hub": {
			is: ofObjects(naming("secret/db").Spec(`{"project":"web","destination":{"namespace":"argocd"}}`), there(),
				func(s *situation) { s.Cluster.Hub = true }),
			want: []string{"final update", apis.ReasonDependencyInvalid}, after: orphans},
		"originals of a hub whose ManagedCluster is missing": {
			is: ofObjects(naming("secret/db").Spec(`{"project":"web","destination":{"namespace":"argocd"}}`), there(), noCluster,
				func(s *situation) { s.Users, s.OwnWorkExists, s.Cluster.Hub = nil, false, true }),
			want: []string{"final update"}, after: orphans},
		"without a project": {is: ofObjects(naming("secret/db"), there(), func(s *situation) { s.Project = nil }), want: []string{}},
		"with an executor": {
			is:   ofObjects(naming("secret/db"), func(s *situation) { s.Executor.Name = "deployer" }),
			want: []string{"create"}, after: func(w *workv1.ManifestWork) bool { return w.Spec.Executor != nil }},
		"with no executor as it should be": {is: ofObjects(naming("secret/db"), func(s *situation) { s.ExecutorInvalid = true }), want: []string{}},
		"too large": {
			is:   ofObjects(naming("secret/db"), there(), largeObject),
			want: []string{apis.ReasonDependencyInvalid}, says: "the objects have"},
		"of an Application that is paused": {
			is:   ofObjects(naming("secret/none"), func(s *situation) { s.Users[0].Paused = "this Application" }),
			want: []string{}},
		"of an Application on a paused cluster": {is: ofObjects(naming("secret/none"), pausedCluster), want: []string{}},
		"of an Application that is not sent":    {is: ofObjects(naming("secret/db"), there(), unsentApp), want: []string{}},
		"of an Application that was not sent, ended": {
			is:   ofObjects(naming("secret/db"), there(), unsentApp, func(s *situation) { s.OwnWorkExists = false }),
			want: []string{"delete"}},
		"of an Application that is not sent, and says": {
			is:   ofObjects(naming("secret/db").Condition(apis.ConditionDependencyError, "x"), unsentApp),
			want: []string{"condition goes"}},
		"of an Application that goes, and says": {
			is:   ofObjects(naming("secret/db").Condition(apis.ConditionDependencyError, "x").Deleted(now), unsentApp),
			want: []string{}},
		"of an Application that is gone": {
			is:   ofObjects(naming("secret/db"), there(), func(s *situation) { s.Users, s.OwnWorkExists = nil, false }),
			want: []string{"delete"}},
		"of an Application that is gone, not there": {is: ofObjects(naming("secret/db"), there(), func(s *situation) { s.Users = nil }), want: []string{}},
		"of an Application that was released": {
			is:   ofObjects(naming("secret/db"), there(), unsentApp, func(s *situation) { s.Works = append(s.Works, releasedWork(s.Users[0].App)) }),
			want: []string{"update"}, after: namesWeb},
		"no problem any more": {
			is:   ofObjects(naming("secret/db").Condition(apis.ConditionDependencyError, "x"), there()),
			want: []string{"condition goes"}},
		"the same problem": {
			is: ofObjects(naming("pod/x").Condition(apis.ConditionDependencyError,
				`annotation `+apis.AnnotationWith+`: "pod/x" is neither secret/NAME nor configmap/NAME`)),
			want: []string{apis.ReasonDependencyInvalid}},
	})
}

// onlyWeb lets the project permit only one namespace.
func onlyWeb(s *situation) { s.Project.Spec.Destinations[0].Namespace = "web" }

// lands reports whether a work brings exactly these objects, by namespace and name.
func lands(want ...string) func(*workv1.ManifestWork) bool {
	return func(w *workv1.ManifestWork) bool {
		var got []string
		for _, c := range w.Spec.ManifestConfigs {
			got = append(got, c.ResourceIdentifier.Namespace+"/"+c.ResourceIdentifier.Name)
		}
		return slices.Equal(got, want)
	}
}

// unsentApp clears the Application's own work for the decision. The delivered dependency work stays.
func unsentApp(s *situation) { s.Users[0].Own = nil }

func largeObject(s *situation) {
	s.Named[Reference{Kind: SecretKind, Name: "db"}].(*corev1.Secret).Data["x"] = make([]byte, 600<<10)
}

// oldApp returns a second Application with the dependencies of webApp.
func oldApp() *argocd.Application {
	app := webApp().UID("2").Obj()
	app.Name = "old"
	return app
}

func TestProblems(t *testing.T) {
	large := func(s *situation) {
		s.Project.Spec.Raw = []byte(`{"description":"` + strings.Repeat("x", 600<<10) + `"}`)
	}
	secret := secretOf("git", "https://git.example.com/web.git")
	secret.Data["key"] = make([]byte, 600<<10)
	withWork := func(other *situation, state func(*workv1.ManifestWork)) edit {
		return func(s *situation) { s.Dependencies = append(s.Dependencies, other.with(there(state)).Work) }
	}
	decides(t, map[string]row{
		"a large project":                {is: ofObjects(webApp(), large), want: []string{apis.ReasonDependencyInvalid}, says: "split the AppProject"},
		"a large project, on no cluster": {is: ofObjects(webApp(), large, noCluster), want: []string{}},
		"a large project that stays":     {is: ofObjects(webApp(), large, func(s *situation) { s.Projects = false }), want: []string{}},
		"a large project, not to be read": {is: ofObjects(webApp(), func(s *situation) {
			s.Project.Spec.Raw = []byte(`{"destinations":{},"x":"` + strings.Repeat("x", 200<<10) + `"}`)
		}), want: []string{"error"}},
		"a large credential": {
			is:   ofObjects(webApp(), secrets(secret)),
			want: []string{apis.ReasonDependencyInvalid}, says: "Secret git cannot be sent"},
		"a template for a host, and a repository without a path": {
			is:   ofObjects(registryApp(), secrets(templateOf("hub", "registry.example.com"))),
			want: []string{apis.ReasonDependencyInvalid}, says: "create a Secret of type repository"},
		"a template for a host, and a Secret for the repository": {
			is: ofObjects(registryApp(), secrets(templateOf("hub", "registry.example.com"), secretOf("git", "registry.example.com"))), want: []string{}},
		"a template for another host": {
			is: ofObjects(registryApp(), secrets(templateOf("hub", "registry.example.com.evil"))), want: []string{}},
		"a large credential that the Application does not use": {is: ofObjects(webApp().Spec(`{"project":"web"}`), secrets(secret)), want: []string{}},
		"a project refused": {
			is:   ofObjects(webApp(), withWork(ofProject(), refusing)),
			want: []string{apis.ReasonDependencyRefused}, says: "conflict with another manager"},
		"a project refused, and gone": {
			is:   ofObjects(webApp(), withWork(ofProject(), refusing), func(s *situation) { s.Project = nil }),
			want: []string{apis.ReasonDependencyRefused}},
		"a credential refused": {
			is:   ofObjects(webApp(), secrets(secretOf("git", "https://git.example.com/web.git")), withWork(ofCredential(), refusing)),
			want: []string{apis.ReasonDependencyRefused}, says: "for Application argocd/web"},
		"a credential refused, of no Secret": {is: ofObjects(webApp(), withWork(ofCredential(), refusing)), want: []string{apis.ReasonDependencyRefused}},
		"objects refused": {
			is:   ofObjects(webApp(), withWork(ofObjects(naming("secret/db")), refusing)),
			want: []string{apis.ReasonDependencyRefused}},
		"a project not seen": {is: ofObjects(webApp(), withWork(ofProject(), unseen)), want: []string{}},
	})
}

// TestRefresh checks that Towline requests a refresh once after the arrival of the Application's dependencies.
func TestRefresh(t *testing.T) {
	arrived := func(s *situation) { s.Dependencies = []*workv1.ManifestWork{ofProject(there()).Work} }
	last := func(r Refresh) edit { return func(s *situation) { s.Refresh = r } }
	waits := webApp().Condition(InvalidSpec, "no project")
	decides(t, map[string]row{
		"arrived":             {is: ofObjects(waits, arrived), want: []string{"after 1.2s"}},
		"arrived, and waited": {is: ofObjects(waits, arrived, last(Refresh{With: "uid/1 ", Due: now})), want: []string{"refresh"}},
		"arrived, and waited for half": {
			is:   ofObjects(waits, arrived, last(Refresh{With: "uid/1 ", Due: now.Add(time.Second)})),
			want: []string{"after 1s"}},
		"arrived, and another since": {
			is:   ofObjects(waits, arrived, last(Refresh{With: "uid/0 ", Due: now, Requested: true})),
			want: []string{"after 1.2s"}},
		"asked":                   {is: ofObjects(waits, arrived, last(Refresh{With: "uid/1 ", Requested: true})), want: []string{}},
		"not arrived":             {is: ofObjects(waits), want: []string{}},
		"in want of nothing":      {is: ofObjects(webApp(), arrived), want: []string{}},
		"in want of a credential": {is: ofObjects(webApp().Condition(NoComparison, "x"), arrived), want: []string{}},
		"in want of the host keys": {is: ofObjects(sshApp().Condition(NoComparison, "x"), func(s *situation) {
			s.Dependencies = []*workv1.ManifestWork{ofHostKeys("true", used(sshApp()), there()).Work}
		}), want: []string{"after 1.2s"}},
		"a refresh is on its way already": {
			is:   ofObjects(webApp().Condition(InvalidSpec, "x").Annotation(apis.AnnotationRefresh, "hard"), arrived),
			want: []string{}},
	})
	if plan := Decide(ofObjects(waits, unsentApp).Facts, Options{}); plan.Refresh == nil || *plan.Refresh != (Refresh{}) {
		t.Error("an Application that is not sent is remembered")
	}
}

// TestEveryGateBlocks checks that each gate blocks in some case of the tables. The tables run before this test.
func TestEveryGateBlocks(t *testing.T) {
	if len(gates) < len(Gates)/2 {
		t.Skip("not all tables were run")
	}
	for _, g := range Gates {
		if !gates[g.Name] {
			t.Errorf("no table has a case in which %q holds", g.Name)
		}
	}
}

// TestDestroys checks that Towline decides twice only before a removal from a cluster.
func TestDestroys(t *testing.T) {
	for title, tc := range map[string]struct {
		is   *situation
		want string
	}{
		"nothing":        {ofProject(used(webApp()), there()), ""},
		"create":         {ofProject(used(webApp())), ""},
		"update":         {ofProject(used(webApp()), there(func(w *workv1.ManifestWork) { w.Labels = nil })), ""},
		"the last state": {ofProject(there()), "update uid"},
		"delete":         {ofCredential(there()), "delete uid"},
	} {
		plan := Decide(tc.is.Facts, tc.is.Options)
		if got := strings.Join(plan.Destroys(), ", "); got != tc.want {
			t.Errorf("%s: %q", title, got)
		}
	}
}

func TestStaysFor(t *testing.T) {
	app := types.NamespacedName{Namespace: "argocd", Name: "web"}
	for title, tc := range map[string]struct {
		is   *situation
		want bool
	}{
		"not released":       {ofCredential(there()), false},
		"released":           {ofCredential(there(releasedToWeb)), true},
		"released, not seen": {ofCredential(there(releasedToWeb, unseen)), false},
		"going":              {ofCredential(there(going)), true},
	} {
		if got := StaysFor(tc.is.Work, app); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}
