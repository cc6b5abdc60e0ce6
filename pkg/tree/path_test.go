package tree_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/tree"
)

func TestLive(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*tree.Path)
		want   bool
	}{
		"by its name":    {func(*tree.Path) {}, true},
		"by its address": {func(p *tree.Path) { p.Name, p.Server = "", p.Secrets[0].Server }, true},
		"a name of its own in Argo CD": {func(p *tree.Path) {
			p.Name, p.Secrets[0].Name = "one", "one"
		}, true},
		"by both, which Argo CD refuses":       {func(p *tree.Path) { p.Server = p.Secrets[0].Server }, false},
		"no Secret, as for the in-cluster":     {func(p *tree.Path) { p.Name, p.Server, p.Secrets = "", apis.InClusterServer, nil }, false},
		"a Secret with the in-cluster address": {func(p *tree.Path) { p.Secrets[0].Server = apis.InClusterServer }, false},
		"a Secret with another spelling":       {func(p *tree.Path) { p.Secrets[0].Server = "https://kubernetes.default" }, false},
		"a Secret without an address":          {func(p *tree.Path) { p.Secrets[0].Server = "" }, false},
		"the name of the in-cluster":           {func(p *tree.Path) { p.Name, p.Secrets[0].Name = "in-cluster", "in-cluster" }, false},
		"no credentials":                       {func(p *tree.Path) { p.Secrets[0].Credentials = false }, false},
		"another cluster's Secret":             {func(p *tree.Path) { p.Secrets[0].Cluster = "cluster2" }, false},
		"a Secret of no ManagedCluster":        {func(p *tree.Path) { p.Secrets[0].Cluster = "" }, false},
		"an Application of no cluster":         {func(p *tree.Path) { p.Cluster, p.Secrets[0].Cluster = "", "" }, false},
		"two Secrets":                          {func(p *tree.Path) { p.Secrets = append(p.Secrets, p.Secrets[0]) }, false},
		"a hub that argocd-server may read":    {func(p *tree.Path) { p.HubRefused = false }, false},
	} {
		p := tree.Path{Cluster: "cluster1", Name: "cluster1", HubRefused: true, Secrets: []clustersecret.Place{
			{Name: "cluster1", Server: "https://one.example.com:6443", Cluster: "cluster1", Credentials: true},
		}}
		tc.change(&p)
		if got := p.Live(); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}
