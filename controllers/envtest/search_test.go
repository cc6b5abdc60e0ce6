package envtest_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/search/searchtest"
)

// asking starts Towline with the search service.
func asking(t *testing.T, s *searchtest.Server) *running {
	t.Helper()
	return start(t, func(o *controllers.Options) {
		o.Sources = []string{controllers.SourceSearch}
		o.Search = controllers.SearchOptions{URL: s.URL(), CAFile: s.CAFile, TokenFile: s.TokenFile, Interval: 100 * time.Millisecond}
	})
}

// indexed returns the search item of the Application, as after the apply on its cluster.
func indexed(app *argocd.Application) searchtest.Item {
	return searchtest.Application(app.Cluster(), app.ClusterNamespace(), app.Name)
}

// expectResources waits until the hub Application lists the wanted resources, as "kind/name status health".
func expectResources(t *testing.T, app *argocd.Application, want ...string) {
	t.Helper()
	NewWithT(t).Eventually(func() []string {
		var got []string
		for _, r := range get(t, app).Status.Resources {
			health := ""
			if r.Health != nil {
				health = r.Health.Status
			}
			got = append(got, r.Kind+"/"+r.Name+" "+r.Status+" "+health)
		}
		return got
	}, soon, tick).Should(Equal(want))
}

// asks waits until Towline queries the service for the cluster again.
func asks(t *testing.T, s *searchtest.Server, cluster string) {
	t.Helper()
	s.Queried()
	NewWithT(t).Eventually(func() bool {
		return slices.ContainsFunc(s.Queried(), func(page []string) bool { return slices.Contains(page, cluster) })
	}, soon, tick).Should(BeTrue())
}

// TestSearchAddsResources: the hub shows resources from search together with the health from the work agent. A failure
// of search changes neither.
func TestSearchAddsResources(t *testing.T) {
	s := searchtest.New(t)
	towline := asking(t, s)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("53e28ff"))
	expectHealth(t, app, "Healthy")
	item := indexed(app).With("_missingResources", `[{"kind":"ConfigMap","name":"gone","namespace":"guestbook","apiversion":"v1"}]`).
		With("_conditionSyncError", "by search")
	s.Put(item, searchtest.Resource(item, "apps", "v1", "Deployment", "guestbook", "ui"),
		searchtest.Resource(item, "apps", "v1", "ReplicaSet", "guestbook", "ui-1"),
		searchtest.Resource(item, "", "v1", "Pod", "guestbook", "ui-1-x").With("_ownerUID", "x"))
	expectResources(t, app, "ConfigMap/gone OutOfSync Missing", "Deployment/ui  ")
	if got := get(t, app).Status; got.Health.Status != "Healthy" || got.Sync.Revision != "53e28ff" || len(got.Conditions) > 0 {
		t.Errorf("search has a say in what the work agent knows better: %+v", got)
	}

	expectSettled(t, app)
	towline.countAnew(t)
	before := get(t, app).Status
	for _, broken := range []searchtest.Interference{
		func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		},
		func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
			w.Write([]byte(`{"errors":[{"message":"partial"}],"data":{"searchResult":[{"items":[],"related":[],"count":0}]}}`))
			return true
		},
	} {
		s.Interfere(broken)
		asks(t, s, app.Cluster())
	}
	s.Interfere(nil)
	s.Clear() // as for a user who may no longer see the cluster
	asks(t, s, app.Cluster())
	asks(t, s, app.Cluster())
	if diff := cmp.Diff(before, get(t, app).Status); diff != "" {
		t.Errorf("what was known is lost:\n%s", diff)
	}
	if got := towline.made(t); len(got) > 0 {
		t.Errorf("writes while nothing is new: %q", got)
	}

	s.Put(indexed(app), searchtest.Resource(item, "apps", "v1", "Deployment", "guestbook", "ui"))
	expectResources(t, app, "Deployment/ui  ")
}

// TestSearchTellsConditions: search adds conditions to an Application with an incomplete report from the agent.
func TestSearchTellsConditions(t *testing.T) {
	s := searchtest.New(t)
	asking(t, s)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	expectWork(t, app)
	s.Put(indexed(app).With("_conditionSyncError", "services is forbidden").With("_conditionOperationError", "one or more objects failed to apply"))
	g := NewWithT(t)
	g.Eventually(func() string { m, _ := condition(t, app, "SyncError"); return m }, soon, tick).Should(Equal("services is forbidden"))
	if m, _ := condition(t, app, "OperationError"); m != "one or more objects failed to apply" {
		t.Errorf("got %q", m)
	}

	// A complete report from the agent takes precedence.
	report(t, app, feedbackOf(app).Healthy("a").String("conditionSyncError", "services is forbidden: in full"))
	g.Eventually(func() string { m, _ := condition(t, app, "SyncError"); return m }, soon, tick).Should(Equal("services is forbidden: in full"))
	g.Eventually(func() bool { _, there := condition(t, app, "OperationError"); return there }, soon, tick).Should(BeFalse())
}

// TestSearchThatDoesNotAnswer: after a while, the hub Application and its row show the failure of search and its start
// time. The message is written once, even if the errors of search change. The resources stay, and all other functions
// continue. The first answer ends the condition.
func TestSearchThatDoesNotAnswer(t *testing.T) {
	s := searchtest.New(t)
	towline := start(t, func(o *controllers.Options) {
		o.Sources = []string{controllers.SourceSearch}
		o.Search = controllers.SearchOptions{
			URL: s.URL(), CAFile: s.CAFile, TokenFile: s.TokenFile, Interval: 50 * time.Millisecond, Patience: 200 * time.Millisecond,
		}
	})
	set := applicationSet(t)
	app := set.application(cluster(t), "guestbook").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	s.Put(indexed(app), searchtest.Resource(indexed(app), "", "v1", "Service", "guestbook", "ui"))
	expectResources(t, app, "Service/ui  ")
	expectSettled(t, app)
	began := time.Now().Truncate(time.Second)
	s.Interfere(func(w http.ResponseWriter, _ *http.Request, _ []string) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	expectNotice(t, app, apis.ConditionResourcesStale, "ACM Search has not answered for cluster "+app.Cluster()+" since ")
	i := argocd.IndexCondition(get(t, app).Status.Conditions, apis.ConditionResourcesStale)
	if since := get(t, app).Status.Conditions[i].LastTransitionTime; since == nil || since.Time.Before(began) || since.After(time.Now()) {
		t.Errorf("stale since %v, and it began %v", since, began)
	}
	set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(rowOf(r, app).Conditions).To(ContainElement(HaveField("Type", apis.ConditionResourcesStale)))
	})
	towline.countAnew(t)
	asks(t, s, app.Cluster())
	if got := towline.made(t); len(got) > 0 {
		t.Errorf("writes while it goes on: %q", got)
	}
	report(t, app, feedbackOf(app).String("healthStatus", "Degraded").String("syncStatus", "Synced"))
	expectHealth(t, app, "Degraded")
	expectResources(t, app, "Service/ui  ")

	s.Interfere(nil)
	expectNoNotice(t, app, apis.ConditionResourcesStale)
	set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(rowOf(r, app).Conditions).NotTo(ContainElement(HaveField("Type", apis.ConditionResourcesStale)))
	})
}

// TestSearchOfAHostileCluster: the items of a cluster count only for the cluster's own Applications.
func TestSearchOfAHostileCluster(t *testing.T) {
	s := searchtest.New(t)
	asking(t, s)
	victim, hostile := application(t, cluster(t)).Obj(), application(t, cluster(t)).Obj()
	create(t, victim)
	create(t, hostile)
	expectWork(t, victim)
	expectWork(t, hostile)
	good := searchtest.Resource(indexed(victim), "", "v1", "Service", "guestbook", "good")
	forged := searchtest.Resource(indexed(hostile), "", "v1", "Service", "guestbook", "forged").
		With("_relatedUids", []string{indexed(victim)["_uid"].(string), indexed(hostile)["_uid"].(string)})
	s.Put(indexed(victim), good, forged, indexed(hostile),
		searchtest.Application(hostile.Cluster(), victim.ClusterNamespace(), victim.Name).
			With("_uid", indexed(victim)["_uid"]).With("_conditionSyncError", "forged"))
	expectResources(t, hostile, "Service/forged  ")
	expectResources(t, victim, "Service/good  ")
	if m, there := condition(t, victim, "SyncError"); there {
		t.Errorf("the victim shows %q", m)
	}
}

// TestSearchAfterARestart: the hub keeps the shown resources until search has answered.
func TestSearchAfterARestart(t *testing.T) {
	s := searchtest.New(t)
	first := asking(t, s)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	s.Put(indexed(app), searchtest.Resource(indexed(app), "", "v1", "Service", "guestbook", "ui"))
	expectResources(t, app, "Service/ui  ")
	expectSettled(t, app) // Towline writes the work once more when the hub shows the first comparison
	settled(t)
	first.stop()

	if err := os.WriteFile(s.TokenFile, []byte("a-token-of-another-time"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := asking(t, s)
	asks(t, s, app.Cluster())
	asks(t, s, app.Cluster())
	if got := second.made(t); len(got) > 0 {
		t.Errorf("writes without news: %q", got)
	}
	expectResources(t, app, "Service/ui  ")
	s.Put(searchtest.Resource(indexed(app), "", "v1", "Service", "guestbook", "vi"))
	s.RotateToken("another-token")
	expectResources(t, app, "Service/ui  ", "Service/vi  ")
}

// TestSearchIsDiscovered: a hub belongs to ACM as soon as it has a MultiClusterHub. The namespace of the
// MultiClusterHub is also the namespace of search.
func TestSearchIsDiscovered(t *testing.T) {
	live, err := client.New(hub, client.Options{Scheme: scheme}) // a client that does not know the CRDs of earlier tests
	if err != nil {
		t.Fatal(err)
	}
	discovery := resourcesync.NewDiscovery(live)
	if _, err := discovery.URL(t.Context()); err == nil || !strings.Contains(err.Error(), "this hub is not ACM's") {
		t.Errorf("got %v", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "multiclusterhubs.operator.open-cluster-management.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "operator.open-cluster-management.io", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "multiclusterhubs", Singular: "multiclusterhub", Kind: "MultiClusterHub"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	create(t, crd)
	g := NewWithT(t)
	hubs := func() string { _, err := discovery.URL(t.Context()); return fmt.Sprint(err) }
	g.Eventually(hubs, soon, tick).Should(ContainSubstring("this hub has 0 MultiClusterHubs"))
	acm := &unstructured.Unstructured{}
	acm.SetAPIVersion("operator.open-cluster-management.io/v1")
	acm.SetKind("MultiClusterHub")
	acm.SetNamespace(namespace(t, unique("acm")))
	acm.SetName("multiclusterhub")
	create(t, acm)
	got, err := discovery.URL(t.Context())
	if want := "https://search-search-api." + acm.GetNamespace() + ".svc:4010/searchapi/graphql"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestSearchInTheReport: the report of a failed sync includes a missing resource that only search knows.
func TestSearchInTheReport(t *testing.T) {
	s := searchtest.New(t)
	asking(t, s)
	set := applicationSet(t)
	app := set.application(cluster(t), "guestbook").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).String("healthStatus", "Missing").String("syncStatus", "OutOfSync").
		String("conditionSyncError", "services is forbidden"))
	item := indexed(app).With("_conditionSyncError", "services is f...").
		With("_missingResources", `[{"kind":"Service","name":"ui","namespace":"guestbook","version":"v1"}]`)
	s.Put(item, searchtest.Resource(item, "apps", "v1", "Deployment", "guestbook", "ui"))
	set.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Resources).To(HaveLen(2), "what is missing is in it")
		g.Expect(rowOf(r, app).HealthStatus).To(Equal("Missing"))
		g.Expect(rowOf(r, app).Conditions).To(HaveLen(1))
		g.Expect(rowOf(r, app).Conditions[0].Message).To(Equal("services is forbidden"), "the whole message is shown, not search's")
	})
}
