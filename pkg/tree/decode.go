package tree

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// maxEntry is how large an entry may be that is read. Argo CD puts a hundred resources into one.
const maxEntry = 4 << 20

// Decode is what an entry says that an Argo CD has written for an Application that it deploys: live resources, and how many entries
// the whole tree takes. Of several parents, a resource has the first.
func Decode(entry []byte, compressed bool) (nodes []v1alpha1.TreeNode, shards int, err error) {
	in := io.Reader(bytes.NewReader(entry))
	if compressed {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, 0, err
		}
	}
	var t tree
	if err := json.NewDecoder(io.LimitReader(in, maxEntry)).Decode(&t); err != nil {
		return nil, 0, err
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		out := v1alpha1.TreeNode{Group: n.Group, Version: n.Version, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name, UID: n.UID,
			Health: n.Health, CreatedAt: n.CreatedAt}
		if len(n.ParentRefs) > 0 {
			out.Parent = n.ParentRefs[0].UID
		}
		nodes = append(nodes, out)
	}
	return nodes, t.ShardsCount, nil
}
