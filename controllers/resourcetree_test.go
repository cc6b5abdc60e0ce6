package controllers_test

import (
	"errors"
	"strings"
	"testing"

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

// TestTheTreeInArgoCDsCache: what an agent reports is where argocd-server looks for it, and goes with the Application.
func TestTheTreeInArgoCDsCache(t *testing.T) {
	redis := miniredis.RunT(t)
	start(t, func(o *controllers.Options) {
		o.Redis = argocache.Address{HostPort: redis.Addr(), Plain: true}
	})
	app, there := pulled(t)
	startAgent(t, app.Cluster())
	key := tree.Key(client.ObjectKeyFromObject(app), "argocd", false)
	observe(t, there, detailed)
	entry := func() string {
		value, err := redis.Get(key)
		if err != nil && !errors.Is(err, miniredis.ErrKeyNotFound) {
			t.Fatal(err)
		}
		return value
	}
	g := NewWithT(t)
	g.Eventually(entry, soon, tick).Should(And(ContainSubstring(`"kind":"Deployment"`), ContainSubstring(`"status":"Missing"`)))

	edit(t, app, func(a *argocd.Application) { a.Labels[apis.LabelPull] = "false" })
	g.Eventually(entry, soon, tick).Should(BeEmpty())

	redis.Close() // nothing else notices
	edit(t, app, func(a *argocd.Application) { a.Labels[apis.LabelPull] = "true" })
	observe(t, there, `{"health":{"status":"Healthy"}}`)
	expectHealth(t, app, "Healthy")
}

// TestLiveResources: argocd-server finds the resources while the destination is a cluster Secret with credentials and the hub is
// refused, and none of them from the moment on in which one of these ends.
func TestLiveResources(t *testing.T) {
	redis := miniredis.RunT(t)
	start(t, func(o *controllers.Options) {
		o.Redis = argocache.Address{HostPort: redis.Addr(), Plain: true}
		o.LiveResources = true
	})
	app, there := pulled(t)
	startAgent(t, app.Cluster())
	observe(t, there, detailed)
	key := tree.Key(client.ObjectKeyFromObject(app), "argocd", false)
	g := NewWithT(t)
	expect := func(live bool, after string) {
		t.Helper()
		entry := func() (string, error) { return redis.Get(key) }
		isLive := func(entry string) bool { return !strings.Contains(entry, "on-its-cluster") }
		g.Eventually(entry, soon, tick).Should(And(ContainSubstring(`"kind":"Deployment"`), WithTransform(isLive, Equal(live))), after)
	}
	to := func(destination string) {
		edit(t, app, func(a *argocd.Application) {
			a.Spec.Raw = []byte(`{"project":"default","destination":` + destination + `}`)
		})
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: app.Cluster(), Labels: map[string]string{
			apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelClusterName: app.Cluster(),
		}},
		StringData: map[string]string{"name": app.Cluster(), "server": "https://one.example.com", "config": "{}"},
	}
	cm := argocdSettings(t, "")
	to(`{"name":"` + app.Cluster() + `"}`)
	expect(false, "a destination without a Secret")
	create(t, secret)
	refuse := func(value string) {
		edit(t, cm, func(cm *corev1.ConfigMap) { cm.Data["cluster.inClusterEnabled"] = value })
	}
	refuse("false")
	edit(t, secret, func(s *corev1.Secret) { s.Data["config"] = []byte(`{"bearerToken":"t"}`) })
	expect(true, "credentials")
	refuse("true")
	expect(false, "a hub that argocd-server may read")
	refuse("false")
	expect(true, "one that it may not")
	to(`{"server":"` + apis.InClusterServer + `"}`)
	expect(false, "the in-cluster address")
	to(`{"server":"https://one.example.com"}`)
	expect(true, "the address of the Secret")
	if err := k8s.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	expect(false, "no Secret any more")
}
