package envtest_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/tree"
)

// liveSet and livePod are children of the Deployment in detailed.
const (
	liveDeployment = `{"group":"apps","version":"v1","kind":"Deployment","namespace":"guestbook","name":"guestbook-ui","uid":"d"}`
	liveSet        = `{"group":"apps","version":"v1","kind":"ReplicaSet","namespace":"guestbook","name":"guestbook-ui-1","uid":"r",` +
		`"parentRefs":[{"uid":"d"}]}`
	livePod = `{"version":"v1","kind":"Pod","namespace":"guestbook","name":"guestbook-ui-1-x","uid":"p","parentRefs":[{"uid":"r"}]}`
)

// TestTreeOfACluster: the agent reports the live resources from the cache of the cluster's Argo CD, and follows the
// notifications of Argo CD. The hub shows the live resources to argocd-server while a connection to the cluster exists.
// If Redis is away, the reports lack only their trees.
func TestTreeOfACluster(t *testing.T) {
	there, here := miniredis.RunT(t), miniredis.RunT(t)
	start(t, func(o *controllers.Options) {
		o.Redis = argocache.Address{HostPort: here.Addr(), Plain: true}
		o.LiveResources = true
	})
	app, onIt := pulled(t)
	applied(t, workOf(t, app))
	home := onIt.Namespace
	create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "argocd-cmd-params-cm"},
		Data: map[string]string{"redis.server": there.Addr(), "redis.compression": "none"}})
	of := client.ObjectKeyFromObject(onIt)
	put := func(key, entry string) {
		t.Helper()
		if err := there.Set(key, entry); err != nil {
			t.Fatal(err)
		}
	}
	first, second := tree.Key(of, home, false), tree.ShardKey(of, home, false, 1)
	put(first, `{"nodes":[`+liveDeployment+`,`+liveSet+`],"shardsCount":2}`)
	put(second, `{"nodes":[`+livePod+`]}`)
	a := startAgent(t, app.Cluster(), func(a *agentRun) { a.argoCDTree = home })
	observe(t, onIt, detailed)
	g := NewWithT(t)
	reported := func() (uids []string) {
		if r := reportOn(t, app); r != nil {
			for _, n := range r.Tree {
				uids = append(uids, n.UID)
			}
		}
		return uids
	}
	g.Eventually(reported, soon, tick).Should(Equal([]string{"d", "r", "p"}))

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: app.Cluster(), Labels: map[string]string{
			apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelClusterName: app.Cluster(),
		}},
		StringData: map[string]string{"name": app.Cluster(), "server": "https://one.example.com", "config": `{"bearerToken":"t"}`},
	}
	entry := func() string {
		value, err := here.Get(tree.Key(client.ObjectKeyFromObject(app), "argocd", false))
		if err != nil {
			return ""
		}
		return value
	}
	g.Eventually(entry, soon, tick).Should(And(ContainSubstring("on-its-cluster"), Not(ContainSubstring("ReplicaSet"))), "no way to the cluster")
	edit(t, argocdSettings(t, ""), func(cm *corev1.ConfigMap) { cm.Data["cluster.inClusterEnabled"] = "false" })
	create(t, secret)
	edit(t, app, func(a *argocd.Application) {
		a.Spec.Raw = []byte(`{"project":"default","destination":{"name":"` + app.Cluster() + `"}}`)
	})
	g.Eventually(entry, soon, tick).Should(And(
		ContainSubstring(`"uid":"p","parentRefs":[{"group":"apps","kind":"ReplicaSet"`), Not(ContainSubstring("on-its-cluster"))))

	// A notification of Argo CD, without a change of the Application.
	put(second, `{"nodes":[]}`)
	g.Eventually(func() int { return there.Publish(tree.Channel(of, home), "") }, soon, tick).Should(Equal(1), "nobody listens")
	g.Eventually(reported, soon, tick).Should(Equal([]string{"d", "r"}))
	g.Eventually(entry, soon, tick).ShouldNot(ContainSubstring(`"kind":"Pod"`))

	// A repeated notification without a change causes no write.
	a.writes.take()
	there.Publish(tree.Channel(of, home), "")
	g.Consistently(a.writes.take, 6*time.Second, tick).Should(BeEmpty())

	there.Close()
	observe(t, onIt, `{"health":{"status":"Healthy"}}`)
	g.Eventually(func(g Gomega) {
		r := reportOn(t, app)
		g.Expect(r.Status.Health.Status).To(Equal("Healthy"))
		g.Expect(r.Tree).To(BeEmpty())
	}, soon, tick).Should(Succeed())
}

// TestTreeIsOptIn: without the option, an agent does not read Redis and does not report a tree.
func TestTreeIsOptIn(t *testing.T) {
	there := miniredis.RunT(t)
	start(t)
	app, onIt := pulled(t)
	create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: onIt.Namespace, Name: "argocd-cmd-params-cm"},
		Data: map[string]string{"redis.server": there.Addr(), "redis.compression": "none"}})
	if err := there.Set(tree.Key(client.ObjectKeyFromObject(onIt), onIt.Namespace, false), `{"nodes":[`+liveDeployment+`]}`); err != nil {
		t.Fatal(err)
	}
	startAgent(t, app.Cluster())
	observe(t, onIt, detailed)
	if r := expectReport(t, app, "Degraded"); len(r.Tree) > 0 || there.TotalConnectionCount() > 0 {
		t.Errorf("%d connections, and reported %v", there.TotalConnectionCount(), r.Tree)
	}
}
