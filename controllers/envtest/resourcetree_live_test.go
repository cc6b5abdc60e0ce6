package envtest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/tree"
)

// liveHub is a hub whose argocd-server has a path to a cluster. The cluster has an agent.
type liveHub struct {
	t       *testing.T
	redis   *miniredis.Miniredis
	cluster *clusterv1.ManagedCluster
	secret  *corev1.Secret
	config  *corev1.ConfigMap
}

func startLiveHub(t *testing.T) *liveHub {
	t.Helper()
	h := &liveHub{t: t, redis: miniredis.RunT(t)}
	start(t, func(o *controllers.Options) {
		o.Redis = argocache.Address{HostPort: h.redis.Addr(), Plain: true}
		o.LiveResources = true
	})
	h.cluster, h.config = cluster(t), argocdSettings(t, "")
	h.refuseHub("false")
	h.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: h.cluster.Name, Labels: map[string]string{
			apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelClusterName: h.cluster.Name,
		}},
		StringData: map[string]string{"name": h.cluster.Name, "server": "https://one.example.com", "config": `{"bearerToken":"t"}`},
	}
	create(t, h.secret)
	startAgent(t, h.cluster.Name)
	return h
}

// refuseHub sets whether argocd-server may use the in-cluster address of the hub.
func (h *liveHub) refuseHub(value string) {
	edit(h.t, h.config, func(cm *corev1.ConfigMap) { cm.Data["cluster.inClusterEnabled"] = value })
}

// deliver creates the Application, and acts as the cluster's work agent and Argo CD.
func (h *liveHub) deliver(edits ...func(*fixture.ApplicationBuilder)) (app, there *argocd.Application) {
	h.t.Helper()
	b := application(h.t, h.cluster).Annotation(apis.AnnotationAppNamespace, namespace(h.t, onCluster(h.cluster.Name)))
	b.Spec(h.spec("default", `{"name":"`+h.cluster.Name+`","namespace":"guestbook"}`))
	for _, edit := range edits {
		edit(b)
	}
	app = b.Obj()
	create(h.t, app)
	there = deliver(h.t, app)
	applied(h.t, workOf(h.t, app))
	observe(h.t, there, detailed)
	return app, there
}

func (h *liveHub) spec(project, destination string) string {
	return `{"project":"` + project + `","source":{"repoURL":"https://git.example.com/apps.git"},"destination":` + destination + `}`
}

// to changes the destination of an Application.
func (h *liveHub) to(app *argocd.Application, destination string) {
	h.t.Helper()
	edit(h.t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(h.spec("default", destination)) })
}

// entry returns the cache entry that argocd-server reads for an Application, or an empty string without an entry.
func (h *liveHub) entry(app *argocd.Application) string {
	value, err := h.redis.Get(tree.Key(client.ObjectKeyFromObject(app), "argocd", false))
	if err != nil && !errors.Is(err, miniredis.ErrKeyNotFound) {
		h.t.Fatal(err)
	}
	return value
}

// atOnce limits the delay of an entry: long before the next renewal of a live entry after a minute.
const atOnce = 15 * time.Second

// expect waits until the entry of the Application is live or not, as live says.
func (h *liveHub) expect(app *argocd.Application, live bool, after string) {
	h.t.Helper()
	is := func(entry string) bool { return !strings.Contains(entry, "on-its-cluster") }
	NewWithT(h.t).Eventually(func() string { return h.entry(app) }, atOnce, tick).Should(
		And(ContainSubstring(`"kind":"Deployment"`), WithTransform(is, Equal(live))), after)
}

// TestLiveResources: argocd-server finds the resources while it has a path to the cluster that cannot end at the hub.
// It finds no resources from the moment when the path ends.
func TestLiveResources(t *testing.T) {
	h := startLiveHub(t)
	app, _ := h.deliver()
	h.expect(app, true, "credentials")
	h.refuseHub("true")
	h.expect(app, false, "a hub that argocd-server may read")
	h.refuseHub("false")
	h.expect(app, true, "one that it may not")
	h.to(app, `{"server":"`+apis.InClusterServer+`","namespace":"guestbook"}`)
	h.expect(app, false, "the in-cluster address")
	h.to(app, `{"server":"https://one.example.com","namespace":"guestbook"}`)
	h.expect(app, true, "the address of the Secret")
	edit(t, h.secret, func(s *corev1.Secret) { s.Data["config"] = []byte("{}") })
	h.expect(app, false, "no credentials")
	edit(t, h.secret, func(s *corev1.Secret) { s.Data["config"] = []byte(`{"bearerToken":"t"}`) })
	h.expect(app, true, "credentials again")
	if err := k8s.Delete(t.Context(), h.secret); err != nil {
		t.Fatal(err)
	}
	h.expect(app, false, "no Secret any more")
}

// TestLiveResourcesEndWithTheGrant: each way to withdraw a grant removes the live entry at once.
func TestLiveResourcesEndWithTheGrant(t *testing.T) {
	h := startLiveHub(t)
	p := appProject(t)
	app, _ := h.deliver(func(b *fixture.ApplicationBuilder) {
		b.Spec(h.spec(p.Name, `{"name":"`+h.cluster.Name+`","namespace":"guestbook"}`))
	})
	h.expect(app, true, "a grant")
	grant := get(t, binding(app.Namespace, globalSet))
	if err := k8s.Delete(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	h.expect(app, false, "no binding any more")
	create(t, binding(app.Namespace, globalSet))
	h.expect(app, true, "a binding again")
	edit(t, p, func(p *argocd.AppProject) { p.Spec.Raw, p.Spec.SourceNamespaces = nil, nil })
	h.expect(app, false, "a project that is not for the namespace")
	edit(t, p, func(p *argocd.AppProject) { p.Spec.Raw, p.Spec.SourceNamespaces = nil, []string{"*"} })
	h.expect(app, true, "a project that is for it again")
	edit(t, h.cluster, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	h.expect(app, false, "a cluster that the hub has detached")
}

// TestNobodyGetsAccessByStatus: a tenant writes the resources of a cluster into the status of an Application. The
// tenant has no right to the cluster, or shares the cluster and has delivered nothing. argocd-server does not learn of
// the resources.
func TestNobodyGetsAccessByStatus(t *testing.T) {
	h := startLiveHub(t)
	owner, _ := h.deliver()
	h.expect(owner, true, "the owner's own")
	for title, granted := range map[string]bool{"without a grant": false, "with a grant, before the first delivery": true} {
		ns := unique("tenant")
		create(t, namespaceOf(ns))
		if granted {
			create(t, binding(ns, globalSet))
		}
		attack := fixture.Application("attack").Namespace(ns).Cluster(h.cluster.Name).
			Spec(h.spec("default", `{"name":"`+h.cluster.Name+`","namespace":"guestbook"}`)).Obj()
		attack.Status = argocd.Status{Resources: []argocd.ResourceStatus{
			{Version: "v1", Kind: "Pod", Namespace: "payments", Name: "database"},
			{Version: "v1", Kind: "Secret", Namespace: "payments", Name: "password"},
		}}
		create(t, attack)
		NewWithT(t).Eventually(func() []argocd.ResourceStatus { return get(t, attack.DeepCopy()).Status.Resources }, soon, tick).
			Should(HaveLen(2), "the API server takes what a tenant writes into the status")
		if granted {
			expectWork(t, attack)
		} else {
			expectForbidden(t, attack, apis.ReasonClusterForbidden, "to permit the cluster")
		}
		NewWithT(t).Consistently(func() string { return h.entry(attack) }, 3*time.Second, tick).Should(BeEmpty(), title)
	}
}

// TestLiveResourcesOfTheProjectOnly: on a shared cluster, Git can name resources of other tenants, and the cluster's
// Argo CD then lists these resources. argocd-server finds only the resources that the Application's AppProject permits.
func TestLiveResourcesOfTheProjectOnly(t *testing.T) {
	h := startLiveHub(t)
	p := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Destinations = []argocd.ProjectDestination{{Name: h.cluster.Name, Namespace: "guestbook"}}
	})
	app, there := h.deliver(func(b *fixture.ApplicationBuilder) {
		b.Spec(h.spec(p.Name, `{"name":"`+h.cluster.Name+`","namespace":"guestbook"}`))
	})
	observe(t, there, `{"resources":[`+
		`{"group":"apps","version":"v1","kind":"Deployment","namespace":"guestbook","name":"guestbook-ui","status":"Synced"},`+
		`{"version":"v1","kind":"Service","namespace":"guestbook","name":"second","status":"Synced"},`+
		`{"version":"v1","kind":"Secret","namespace":"payments","name":"password","status":"OutOfSync"},`+
		`{"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRole","name":"everything","status":"OutOfSync"}]}`)
	NewWithT(t).Eventually(func() string { return h.entry(app) }, soon, tick).Should(And(
		ContainSubstring(`"uid":"/Service/guestbook/second"`), Not(ContainSubstring("on-its-cluster")),
		Not(ContainSubstring("payments")), Not(ContainSubstring("everything"))))
}
