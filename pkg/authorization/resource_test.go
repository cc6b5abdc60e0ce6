package authorization_test

import (
	"encoding/json"
	"testing"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// TestScope checks that a project permits resources by namespace and kind, as Argo CD does.
func TestScope(t *testing.T) {
	const own = `"destinations":[{"name":"cluster1","namespace":"team-*"}]`
	const anyKind = `"clusterResourceWhitelist":[{"group":"*","kind":"*"}]`
	pod := authorization.Resource{Kind: "Pod", Namespace: "team-a", Name: "web"}
	role := authorization.Resource{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "edit"}
	for title, tc := range map[string]struct {
		spec string
		of   authorization.Resource
		want bool
	}{
		"a namespace of its own":           {`{` + own + `}`, pod, true},
		"a namespace of another team":      {`{` + own + `}`, authorization.Resource{Kind: "Pod", Namespace: "other", Name: "web"}, false},
		"a kind that is permitted":         {`{` + own + `,"namespaceResourceWhitelist":[{"group":"","kind":"Po*"}]}`, pod, true},
		"a kind that is not permitted":     {`{` + own + `,"namespaceResourceWhitelist":[{"group":"apps","kind":"*"}]}`, pod, false},
		"no kind at all":                   {`{` + own + `,"namespaceResourceWhitelist":[]}`, pod, false},
		"a kind that is forbidden":         {`{` + own + `,"namespaceResourceBlacklist":[{"group":"*","kind":"Pod"}]}`, pod, false},
		"cluster-scoped, by default":       {`{` + own + `}`, role, false},
		"cluster-scoped and permitted":     {`{"clusterResourceWhitelist":[{"group":"*","kind":"*"}]}`, role, true},
		"cluster-scoped, by its name":      {`{"clusterResourceWhitelist":[{"group":"*","kind":"*","name":"e*"}]}`, role, true},
		"cluster-scoped, of another name":  {`{"clusterResourceWhitelist":[{"group":"*","kind":"*","name":"x*"}]}`, role, false},
		"cluster-scoped, then forbidden":   {`{` + anyKind + `,"clusterResourceBlacklist":[{"group":"*","kind":"ClusterRole"}]}`, role, false},
		"a pattern that cannot be read":    {`{"clusterResourceWhitelist":[{"group":"*","kind":"["}]}`, role, false},
		"a list that cannot be read":       {`{` + own + `,"namespaceResourceBlacklist":"all"}`, pod, false},
		"a destination on another cluster": {`{"destinations":[{"name":"cluster2","namespace":"*"}]}`, pod, false},
	} {
		p := &argocd.AppProject{}
		if err := json.Unmarshal([]byte(tc.spec), &p.Spec); err != nil {
			t.Fatal(err)
		}
		scope := authorization.Scope{Project: p, Cluster: authorization.Cluster{Name: "cluster1", Server: "https://one.example.com"}}
		if got := scope.Permits(tc.of); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}
