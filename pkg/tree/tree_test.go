package tree_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/tree"
)

func resources() []argocd.ResourceStatus {
	return []argocd.ResourceStatus{
		{Version: "v1", Kind: "Service", Namespace: "guestbook", Name: "guestbook-ui", Status: "OutOfSync", Health: &argocd.Health{Status: "Missing"}},
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "guestbook", Name: "guestbook-ui", Status: "Synced",
			Health: &argocd.Health{Status: "Degraded", Message: "exceeded its progress deadline"}},
		{Version: "v1", Kind: "Namespace", Name: "guestbook", Status: "Synced"},
		{Group: "batch", Version: "v1", Kind: "Job", Namespace: "guestbook", Name: "migrate", Hook: true},
	}
}

// entry is what the contract test, e2e/programs/argocd, puts into a cache to have Argo CD read it.
type entry struct {
	Key, Value, CompressedKey string
	Compressed                []byte
	Channel                   string
	OtherNamespaceKey         string
}

func TestGolden(t *testing.T) {
	home, other := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, types.NamespacedName{Namespace: "team-a", Name: "guestbook"}
	value := tree.Encode(resources())
	got, err := json.MarshalIndent(entry{
		Key: tree.Key(home, "argocd", false), Value: string(value),
		CompressedKey: tree.Key(home, "argocd", true), Compressed: tree.Compress(value),
		Channel: tree.Channel(home, "argocd"), OtherNamespaceKey: tree.Key(other, "argocd", false),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "entry.golden.json", got)
}

func TestTheOrderDoesNotCount(t *testing.T) {
	turned := resources()
	slices.Reverse(turned)
	if diff := cmp.Diff(string(tree.Encode(resources())), string(tree.Encode(turned))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoUID: with one, argocd-server would take the hub's own resource of that name for the cluster's.
func TestNoUID(t *testing.T) {
	if got := string(tree.Encode(resources())); strings.Contains(strings.ToLower(got), "uid") {
		t.Errorf("got %s", got)
	}
}
