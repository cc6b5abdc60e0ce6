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
	// maxNodes is how many live resources a report has at most, as the schema of ApplicationReport has it.
	maxNodes = 500

	// maxDepth is how many resources may have made one another in a row. It is more than any controllers do.
	maxDepth = 16
)

// Tree is what can be believed of the live resources in a report on the Application that key names on its cluster, of which those
// resources are in Git: those, and what they have made. Each has a name and a UID of its own, and comes after the one that has made it.
// rejected tells whether a value did not fit.
func Tree(r *v1alpha1.ApplicationReport, key types.NamespacedName, inGit []argocd.ResourceStatus) (nodes []v1alpha1.TreeNode, rejected bool) {
	if r.Application.Namespace != key.Namespace || r.Application.Name != key.Name {
		return nil, len(r.Tree) > 0
	}
	given := r.Tree[:min(len(r.Tree), maxNodes)]
	return hung(given, inGit)
}

// object names a resource, whatever its version is.
type object struct{ group, kind, namespace, name string }

// hung are copies of those nodes that hang from the resources that are in Git, those resources first, then what they have made, and so
// on. What hangs from nothing is left out, and so is the second one of a name or a UID: argocd-server follows parents by their names,
// and would not end where they go in a circle.
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

// node tells whether a live resource can be named, and so be of use.
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

// isUID tells whether a text from a cluster has the form of a UID. Those that Towline makes of a name have a slash.
func isUID(s string) bool {
	return feedback.IsLine(s, maxUID) && !strings.ContainsFunc(s, notOfUID)
}

// neededFirst puts what needs attention before its like, and keeps an order that does not depend on the given one.
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
