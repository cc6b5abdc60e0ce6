package settings

import (
	"testing"

	"github.com/towline-io/towline/pkg/fixture"
)

func TestSet(t *testing.T) {
	n := Namespaces{"one": "argocd", "own": "apps-{namespace}", "same": "{namespace}"}
	for cluster, want := range map[string]string{"one": "argocd", "own": "apps-team-a", "same": "team-a", "none": ""} {
		app := fixture.Application("a").Namespace("team-a").Cluster(cluster).Obj()
		if n.Set(app); app.Home != want {
			t.Errorf("%s: %q, want %q", cluster, app.Home, want)
		}
	}
}

func TestValidNamespace(t *testing.T) {
	for namespace, want := range map[string]bool{
		"argocd": true, "{namespace}": true, "apps-{namespace}": true, "": false, "No": false, "{cluster}": false, "-{namespace}": false,
	} {
		if ValidNamespace(namespace) != want {
			t.Errorf("%q: want %t", namespace, want)
		}
	}
}
