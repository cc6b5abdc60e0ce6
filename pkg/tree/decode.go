package tree

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// maxEntry is the maximum size of an entry, in bytes. Argo CD puts a hundred resources into one entry.
const maxEntry = 4 << 20

// Decode reads an entry of an Argo CD for a deployed Application. nodes are the live resources, and shards is the
// number of entries for the whole tree. A resource with several parents gets the first parent. Decode fails for invalid
// gzip data or JSON.
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
