package appreport

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

const (
	// maxNodes is the maximum number of live resources in a report, as in the schema of ApplicationReport.
	maxNodes = 500

	// maxDepth is the maximum depth of a tree of owners. Real controllers make shallower trees.
	maxDepth = 16
)

// Tree returns the trustworthy live resources in a report on the Application key. inGit are the resources in Git. The
// result has resources in Git and their descendants. Each node has a unique name and a unique UID, and comes after its
// parent. rejected is true if a value was invalid.
func Tree(r *v1alpha1.ApplicationReport, key types.NamespacedName, inGit []argocd.ResourceStatus) (nodes []v1alpha1.TreeNode, rejected bool) {
	if r.Application.Namespace != key.Namespace || r.Application.Name != key.Name {
		return nil, len(r.Tree) > 0
	}
	given := r.Tree[:min(len(r.Tree), maxNodes)]
	return hung(given, inGit)
}

// object identifies a resource without its version.
type object struct{ group, kind, namespace, name string }

// hung returns copies of the nodes below resources in Git, level by level: first the resources in Git, then their
// children, and so on. Nodes without a connection to Git are dropped. Nodes with a repeated name or UID are dropped
// too: argocd-server follows parents by name, and would never end in a cycle.
func hung(nodes []v1alpha1.TreeNode, inGit []argocd.ResourceStatus) (out []v1alpha1.TreeNode, rejected bool) {
	if len(nodes) == 0 {
		return nil, false
	}
	roots := map[object]bool{}
	for i := range inGit {
		if r := &inGit[i]; !r.Hook {
			roots[object{r.Group, r.Kind, r.Namespace, r.Name}] = true
		}
	}
	c, made := &checker{}, map[string][]v1alpha1.TreeNode{}
	var level []v1alpha1.TreeNode
	for i := range nodes {
		n := *nodes[i].DeepCopy()
		switch {
		case !c.node(&n):
		case roots[objectOf(&n)]:
			n.Parent = ""
			level = append(level, n)
		case n.Parent != "":
			made[n.Parent] = append(made[n.Parent], n)
		}
	}
	uids, objects := map[string]bool{}, map[object]bool{}
	for depth := 0; len(level) > 0 && depth < maxDepth; depth++ {
		slices.SortFunc(level, neededFirst)
		var next []v1alpha1.TreeNode
		for i := range level {
			n := &level[i]
			if uids[n.UID] || objects[objectOf(n)] {
				continue
			}
			uids[n.UID], objects[objectOf(n)] = true, true
			out, next = append(out, *n), append(next, made[n.UID]...)
		}
		level = next
	}
	return out, len(c.rejected) > 0
}

func objectOf(n *v1alpha1.TreeNode) object { return object{n.Group, n.Kind, n.Namespace, n.Name} }

// node validates a live resource, and returns false without a kind, a name or a UID.
func (c *checker) node(n *v1alpha1.TreeNode) bool {
	c.name(fieldTree, &n.Group, &n.Version, &n.Kind, &n.Namespace, &n.Name)
	c.hold(fieldTree, &n.UID, isUID(n.UID))
	c.hold(fieldTree, &n.Parent, isUID(n.Parent))
	c.time(fieldTree, &n.CreatedAt)
	if n.Health != nil {
		c.health(fieldTree, n.Health)
		if *n.Health == (argocd.Health{}) {
			n.Health = nil
		}
	}
	return n.Kind != "" && n.Name != "" && n.UID != ""
}

// isUID returns whether a text from a cluster has the form of a UID. A UID that Towline derives from a name has a
// slash.
func isUID(s string) bool {
	return feedback.IsLine(s, maxUID) && !strings.ContainsFunc(s, notOfUID)
}

// neededFirst sorts nodes with a problem first. The order does not depend on the given order.
func neededFirst(a, b v1alpha1.TreeNode) int {
	return cmp.Or(
		firstly(troubled(&a), troubled(&b)),
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID), cmp.Compare(a.Version, b.Version),
	)
}

func troubled(n *v1alpha1.TreeNode) bool {
	return n.Health != nil && n.Health.Status != "" && n.Health.Status != "Healthy"
}

func notOfUID(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
