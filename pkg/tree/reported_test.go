package tree_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/tree"
)

// reported returns a cluster's report of the Deployment in resources, with the objects made by the Deployment.
func reported() []v1alpha1.TreeNode {
	return []v1alpha1.TreeNode{
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "guestbook-ui", UID: "d"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "guestbook", Name: "guestbook-ui-1", UID: "r", Parent: "d"},
		{Version: "v1", Kind: "Pod", Namespace: "guestbook", Name: "guestbook-ui-1-x", UID: "p", Parent: "r",
			Health: &argocd.Health{Status: "Healthy"}, CreatedAt: "2026-01-02T03:04:05Z"},
		{Version: "v1", Kind: "Pod", Namespace: "guestbook", Name: "of-nobody", UID: "n", Parent: "gone"},
	}
}

// TestReported checks that argocd-server uses the UIDs of the cluster, and follows a Pod to its Deployment by names.
// Without a path to the cluster, reports change nothing.
func TestReported(t *testing.T) {
	if diff := cmp.Diff(string(tree.Encode(resources(), false)), string(tree.Encode(resources(), false, reported()...))); diff != "" {
		t.Errorf("without a way to the cluster (-want +got):\n%s", diff)
	}
	var got struct {
		Nodes []struct {
			Kind, Name, UID, CreatedAt string
			ParentRefs                 []struct{ Group, Kind, Namespace, Name, UID string }
		}
	}
	if err := json.Unmarshal(tree.Encode(resources(), true, reported()...), &got); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, n := range got.Nodes {
		text := n.UID + n.CreatedAt
		for _, p := range n.ParentRefs {
			text += " of " + p.Group + "/" + p.Kind + "/" + p.Namespace + "/" + p.Name + " " + p.UID
		}
		shown[n.Kind+" "+n.Name] = text
	}
	want := map[string]string{
		"Namespace guestbook":       "/Namespace//guestbook",
		"Service guestbook-ui":      "/Service/guestbook/guestbook-ui",
		"Deployment guestbook-ui":   "d",
		"ReplicaSet guestbook-ui-1": "r of apps/Deployment/guestbook/guestbook-ui d",
		"Pod guestbook-ui-1-x":      "p2026-01-02T03:04:05Z of apps/ReplicaSet/guestbook/guestbook-ui-1 r",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDecode checks that Decode reads the entries of Encode.
func TestDecode(t *testing.T) {
	entry := tree.Encode(resources(), true, reported()...)
	for title, tc := range map[string]struct {
		entry      []byte
		compressed bool
		nodes      int
		shards     int
		fails      bool
	}{
		"plain":          {entry, false, 5, 0, false},
		"compressed":     {tree.Compress(entry), true, 5, 0, false},
		"one of several": {[]byte(`{"nodes":[{"uid":"a","parentRefs":[{"uid":"b"},{"uid":"c"}]}],"shardsCount":3}`), false, 1, 3, false},
		"no tree":        {[]byte("null"), false, 0, 0, false},
		"not compressed": {entry, true, 0, 0, true},
		"not JSON":       {[]byte("<"), false, 0, 0, true},
		"cut":            {entry[:len(entry)/2], false, 0, 0, true},
	} {
		nodes, shards, err := tree.Decode(tc.entry, tc.compressed)
		if len(nodes) != tc.nodes || shards != tc.shards || (err != nil) != tc.fails {
			t.Errorf("%s: %d nodes, %d shards, %v", title, len(nodes), shards, err)
		}
		if title == "one of several" && nodes[0].Parent != "b" {
			t.Errorf("the parent is %q", nodes[0].Parent)
		}
	}
}

func TestKeysOfAnArgoCD(t *testing.T) {
	for _, app := range []types.NamespacedName{{Namespace: "argocd", Name: "a"}, {Namespace: "team-a", Name: "b"}} {
		if got := tree.OfChannel(tree.Channel(app, "argocd"), "argocd"); got != app {
			t.Errorf("the channel of %s is that of %s", app, got)
		}
	}
	app := types.NamespacedName{Namespace: "team-a", Name: "b"}
	if got, want := tree.ShardKey(app, "argocd", true, 2), "app|resources-tree|team-a_b|2|1.8.3.gz"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for compressed, want := range map[bool]string{true: "app|managed-resources|team-a_b|1.8.3.gz", false: "app|managed-resources|team-a_b|1.8.3"} {
		if got := tree.ManagedResourcesKey(app, "argocd", compressed); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
