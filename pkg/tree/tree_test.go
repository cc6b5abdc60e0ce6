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

// pod returns a Pod in Git.
func pod() argocd.ResourceStatus {
	return argocd.ResourceStatus{Version: "v1", Kind: "Pod", Namespace: "guestbook", Name: "alone"}
}

// entry is the input of the contract test e2e/programs/argocd. The contract test puts the entry into a cache, and Argo
// CD reads the entry.
type entry struct {
	Key, Value, CompressedKey string
	Compressed                []byte
	Channel                   string
	OtherNamespaceKey         string
	Live                      string
}

func TestGolden(t *testing.T) {
	home, other := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, types.NamespacedName{Namespace: "team-a", Name: "guestbook"}
	value := tree.Encode(resources(), false)
	got, err := json.MarshalIndent(entry{
		Key: tree.Key(home, "argocd", false), Value: string(value),
		CompressedKey: tree.Key(home, "argocd", true), Compressed: tree.Compress(value),
		Channel: tree.Channel(home, "argocd"), OtherNamespaceKey: tree.Key(other, "argocd", false),
		Live: string(tree.Encode(append(resources(), pod()), true)),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "entry.golden.json", got)
}

func TestTheOrderOfResourcesDoesNotCount(t *testing.T) {
	turned := resources()
	slices.Reverse(turned)
	for _, live := range []bool{false, true} {
		if diff := cmp.Diff(string(tree.Encode(resources(), live)), string(tree.Encode(turned, live))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// node has the fields of an entry that argocd-server reads.
type node struct {
	Group, Version, Kind, Namespace, Name, UID string
	ParentRefs                                 []struct{ UID string }
}

func nodes(t *testing.T, of ...argocd.ResourceStatus) []node {
	return decode(t, tree.Encode(of, false))
}

func decode(t *testing.T, entry []byte) []node {
	t.Helper()
	var out struct{ Nodes []node }
	if err := json.Unmarshal(entry, &out); err != nil {
		t.Fatal(err)
	}
	return out.Nodes
}

// TestTheFirstOfEachNameHasNoUID checks the first node of each name. With a UID, argocd-server would confuse the hub's
// own resource with the cluster's.
func TestTheFirstOfEachNameHasNoUID(t *testing.T) {
	seen := map[[4]string]bool{}
	for _, n := range nodes(t, resources()...) {
		key := [4]string{n.Group, n.Kind, n.Namespace, n.Name}
		if !seen[key] && n.UID != "" {
			t.Errorf("argocd-server would find %+v", n)
		}
		if n.UID != "" && !strings.Contains(n.Version, ".") {
			t.Errorf("an API may have the version of %+v", n)
		}
		seen[key] = true
	}
	if len(seen) != 3 {
		t.Errorf("got %v", seen)
	}
}

// TestPodsHaveNoUID checks Pods. With a UID, argocd-server would show the logs of the hub's Pod of this name.
func TestPodsHaveNoUID(t *testing.T) {
	got := nodes(t, append(resources(), pod())...)
	last := got[len(got)-1]
	if want := (node{Version: "v1", Kind: "Pod", Namespace: "guestbook", Name: "alone"}); cmp.Diff(want, last) != "" {
		t.Errorf("got %+v", last)
	}
}

// TestEachResourceIsListedOnce checks that the CLI shows each resource once: the CLI lists the nodes without a parent,
// and its tree has a row for each UID.
func TestEachResourceIsListedOnce(t *testing.T) {
	uids := map[string]int{}
	for _, n := range nodes(t, resources()...) {
		if len(n.ParentRefs) == 0 {
			uids[n.UID]++
		}
	}
	want := map[string]int{"/Namespace//guestbook": 1, "/Service/guestbook/guestbook-ui": 1, "apps/Deployment/guestbook/guestbook-ui": 1}
	if diff := cmp.Diff(want, uids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLiveNodes checks that each resource has one node, accepted by argocd-server.
func TestLiveNodes(t *testing.T) {
	got := decode(t, tree.Encode(append(resources(), pod()), true))
	uids := map[string]string{}
	for _, n := range got {
		uids[n.UID] = n.Version
	}
	want := map[string]string{
		"/Namespace//guestbook": "v1", "/Pod/guestbook/alone": "v1",
		"/Service/guestbook/guestbook-ui": "v1", "apps/Deployment/guestbook/guestbook-ui": "v1",
	}
	if diff := cmp.Diff(want, uids); diff != "" || len(got) != len(want) {
		t.Errorf("%d nodes (-want +got):\n%s", len(got), diff)
	}
}

// TestNoEmptyUIDInALiveTree checks UIDs: for a request without a UID, argocd-server lists events if a node of the name
// has no UID.
func TestNoEmptyUIDInALiveTree(t *testing.T) {
	for _, n := range decode(t, tree.Encode(append(resources(), pod()), true, reported()...)) {
		if n.UID == "" {
			t.Errorf("no UID: %+v", n)
		}
	}
}
