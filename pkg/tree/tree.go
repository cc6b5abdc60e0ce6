package tree

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// version is that of the objects in Argo CD's cache (common.CacheVersion): part of every key.
const version = "1.8.3"

// Key is where Argo CD looks for the tree of an Application. home is the namespace of Argo CD itself: an Application
// there goes by its name alone. Compressed entries have keys of their own.
func Key(app types.NamespacedName, home string, compressed bool) string {
	key := "app|resources-tree|" + instance(app, home) + "|" + version
	if compressed {
		key += ".gz"
	}
	return key
}

// Channel is where argocd-server hears that the tree of an Application has changed.
func Channel(app types.NamespacedName, home string) string {
	return "app|managed-resources|" + instance(app, home) + "|" + version
}

func instance(app types.NamespacedName, home string) string {
	if app.Namespace == home {
		return app.Name
	}
	return app.Namespace + "_" + app.Name
}

// tree is Argo CD's ApplicationTree, as far as it is known here.
type tree struct {
	Nodes []node `json:"nodes,omitempty"`
}

type node struct {
	Group     string         `json:"group,omitempty"`
	Version   string         `json:"version,omitempty"`
	Kind      string         `json:"kind,omitempty"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Health    *argocd.Health `json:"health,omitempty"`
}

// Encode is the tree of an Application with those resources, in JSON: the same for the same resources, in whatever
// order they are. Hooks are not among them: they run and are done.
func Encode(resources []argocd.ResourceStatus) []byte {
	t := tree{}
	for i := range resources {
		if r := &resources[i]; !r.Hook {
			t.Nodes = append(t.Nodes, node{r.Group, r.Version, r.Kind, r.Namespace, r.Name, r.Health})
		}
	}
	slices.SortFunc(t.Nodes, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings always encode
	}
	return data
}

// Compress is an entry under a compressed key.
func Compress(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err = cmp.Or(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}
