package envtest_test

import (
	"errors"
	"testing"

	"github.com/alicebob/miniredis/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/tree"
)

// TestTheTreeInArgoCDsCache: the agent's report appears in the cache of argocd-server, and is deleted with the
// Application.
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

	redis.Close() // no other controller is affected
	edit(t, app, func(a *argocd.Application) { a.Labels[apis.LabelPull] = "true" })
	observe(t, there, `{"health":{"status":"Healthy"}}`)
	expectHealth(t, app, "Healthy")
}
