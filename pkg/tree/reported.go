package tree

import (
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// reports are a cluster's reports of its live resources.
type reports struct {
	// inGit are the resources in Git, by name.
	inGit map[object]*v1alpha1.TreeNode

	// made are the nodes of objects made by the resources in Git.
	made []node
}

// object identifies a resource without its version.
type object struct{ group, kind, namespace, name string }

// reportsOf sorts the reported nodes. Each parent must come before its children.
func reportsOf(reported []v1alpha1.TreeNode) reports {
	r, byUID := reports{inGit: map[object]*v1alpha1.TreeNode{}}, map[string]*v1alpha1.TreeNode{}
	for i := range reported {
		n := &reported[i]
		of := byUID[n.Parent]
		byUID[n.UID] = n
		if n.Parent == "" {
			r.inGit[object{n.Group, n.Kind, n.Namespace, n.Name}] = n
			continue
		}
		if of == nil {
			continue
		}
		r.made = append(r.made, node{
			Group: n.Group, Version: n.Version, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name, UID: n.UID,
			ParentRefs: []parent{{Group: of.Group, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: of.UID}},
			Health:     n.Health, CreatedAt: n.CreatedAt,
		})
	}
	return r
}

// complete adds the cluster's UID to the node of a resource in Git, if known.
func (r reports) complete(n node) node {
	live := r.inGit[object{n.Group, n.Kind, n.Namespace, n.Name}]
	if live == nil {
		return n
	}
	n.UID, n.CreatedAt = live.UID, live.CreatedAt
	if n.Health == nil {
		n.Health = live.Health
	}
	return n
}
