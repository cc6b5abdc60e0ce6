package managedresources_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

// entry is the input of the contract test e2e/programs/argocd. The contract test puts the entry into a cache, and Argo
// CD reads the entry. The contract test also lets Argo CD write testdata/argocd.json.
type entry struct {
	Key, Value, CompressedKey string
	Compressed                []byte
	OtherNamespaceKey         string
	Lifetime                  string
}

// TestGolden writes Towline's form of the entry that Argo CD writes.
func TestGolden(t *testing.T) {
	home, other := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, types.NamespacedName{Namespace: "team-a", Name: "guestbook"}
	written, err := os.ReadFile("testdata/argocd.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := managedresources.Copy(bytes.NewReader(written), false, false)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := managedresources.Copy(bytes.NewReader(tree.Compress(written)), true, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(entry{
		Key: tree.ManagedResourcesKey(home, "argocd", false), Value: string(value),
		CompressedKey: tree.ManagedResourcesKey(home, "argocd", true), Compressed: compressed,
		OtherNamespaceKey: tree.ManagedResourcesKey(other, "argocd", false), Lifetime: managedresources.Lifetime.String(),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "entry.golden.json", got)
}
