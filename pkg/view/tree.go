package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/why"
	"github.com/towline-io/towline/pkg/work"
)

// Node is one object of a tree: an ApplicationSet, an Application of the hub, its ManifestWork, its Application on the
// cluster, a resource on the cluster, or several resources combined.
type Node struct {
	// Kind, Namespace and Name identify the object. A node of several resources has only a Name.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Cluster is the cluster of the object; empty for the hub.
	Cluster string `json:"cluster,omitempty"`

	// State is the state of the object, Status the same in the words of its source, and Message the problem.
	State   why.State `json:"state"`
	Status  string    `json:"status,omitempty"`
	Message string    `json:"message,omitempty"`

	// Children are the objects that this object creates.
	Children []*Node `json:"children,omitempty"`
}

// TreeFacts are the read facts of an Application for a tree.
type TreeFacts struct {
	// App is the hub's Application.
	App *argocd.Application

	// Work is the ManifestWork; nil if missing or unreadable. WorkUnread is true if unreadable.
	Work       *workv1.ManifestWork
	WorkUnread bool

	// Report is the agent's report about the Application; nil if missing or unreadable.
	Report *v1alpha1.ApplicationReport
}

// TreeOfSet returns the tree of an ApplicationSet. apps are the trees of its Applications, in order.
func TreeOfSet(namespace, name string, apps []*Node) *Node {
	n := &Node{Kind: "ApplicationSet", Namespace: namespace, Name: name, Children: apps, State: why.OK}
	for _, a := range apps {
		n.State = Worst(n.State, a.State)
	}
	n.Status = plural(len(apps), "Application")
	return n
}

// TreeOf returns the tree of an Application.
func TreeOf(f *TreeFacts) *Node {
	row := OfApplication(f.App)
	there := &Node{
		Kind: argocd.Kind, Namespace: f.App.ClusterNamespace(), Name: f.App.Name, Cluster: row.Cluster,
		State: row.State, Status: words(row.Sync, row.Health), Children: resources(f, row.Cluster),
	}
	if r := f.Report; r != nil {
		there.Namespace = r.Application.Namespace
	}
	there.Message = unlisted(f)
	app := &Node{
		Kind: argocd.Kind, Namespace: f.App.Namespace, Name: f.App.Name, State: row.State,
		Status:  cmp.Or(row.Reason, words(row.Sync, row.Health)),
		Message: WithoutReason(row.Reason, row.Message),
	}
	if row.Cluster == "" {
		return app
	}
	work := workNode(f, row.Cluster)
	app.Children = []*Node{work}
	if f.Work != nil || f.WorkUnread {
		work.Children = []*Node{there}
	}
	return app
}

// unlisted returns a message about truncated resources; empty if all resources are listed.
func unlisted(f *TreeFacts) string {
	if f.Report == nil || f.Report.Truncated == nil || f.Report.Truncated.Resources == 0 {
		return ""
	}
	return fmt.Sprintf("%d more resources are not listed", f.Report.Truncated.Resources)
}

func workNode(f *TreeFacts, cluster string) *Node {
	n := &Node{Kind: "ManifestWork", Namespace: cluster, State: why.OK}
	switch {
	case f.WorkUnread:
		n.Name, n.State, n.Status = "?", why.Unknown, "may not be read"
		return n
	case f.Work == nil:
		n.Name, n.State, n.Status = "-", why.Waiting, "not made"
		return n
	}
	n.Name, n.Status = f.Work.Name, "Applied"
	applied := meta.FindStatusCondition(f.Work.Status.Conditions, workv1.WorkApplied)
	switch {
	case applied == nil || applied.ObservedGeneration != f.Work.Generation || work.Retried(f.Work, f.App):
		n.State, n.Status = why.Waiting, "not applied yet"
	case applied.Status != metav1.ConditionTrue:
		n.State, n.Status, n.Message = why.Blocked, "not applied", applied.Message
	}
	return n
}

// resources returns the nodes of an Application's resources, problems first. The agent's report takes precedence over
// the status of the hub's Application, because a tenant may have written the status.
func resources(f *TreeFacts, cluster string) []*Node {
	s := &f.App.Status
	if f.Report != nil && len(f.Report.Status.Resources) > 0 {
		s = &f.Report.Status
	}
	problems := map[string]observed.Problem{}
	for _, p := range observed.Problems(s) {
		problems[key(&p.Resource)] = p
	}
	var out []*Node
	for i := range s.Resources {
		r := &s.Resources[i]
		n := resource(r, cluster)
		if p, ok := problems[key(r)]; ok {
			n.State, n.Message = why.Blocked, p.Message
			n.Status = words(p.State, r.Status)
		}
		delete(problems, key(r))
		out = append(out, n)
	}
	for _, p := range problems { // resources without a comparison
		n := resource(&p.Resource, cluster)
		n.State, n.Status, n.Message = why.Blocked, p.State, p.Message
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(slices.Index(ranks, a.State), slices.Index(ranks, b.State)),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func resource(r *argocd.ResourceStatus, cluster string) *Node {
	n := &Node{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Cluster: cluster, State: why.OK, Status: r.Status}
	if r.Group != "" {
		n.Kind += "." + r.Group
	}
	if r.Hook {
		n.Status = "hook"
		return n
	}
	if h := r.Health; h != nil {
		n.Status = words(r.Status, h.Status)
		if h.Status != "Healthy" {
			n.State, n.Message = why.Waiting, h.Message
		}
		if h.Status == "Degraded" || h.Status == "Missing" {
			n.State = why.Blocked
		}
	}
	if r.Status != "" && r.Status != "Synced" {
		n.State = Worst(n.State, why.Waiting)
	}
	return n
}

func key(r *argocd.ResourceStatus) string {
	return strings.Join([]string{r.Group, r.Kind, r.Namespace, r.Name}, "/")
}

// Problems returns the tree without healthy branches; nil if the whole tree is healthy.
func (n *Node) Problems() *Node {
	out := *n
	out.Children = nil
	for _, c := range n.Children {
		if p := c.Problems(); p != nil {
			out.Children = append(out.Children, p)
		}
	}
	if len(out.Children) == 0 && (n.State == why.OK || n.State == why.Unknown) {
		return nil
	}
	return &out
}

// Compact returns the tree with healthy resources in one line. Each Application of the hub, its work and the cluster's
// Application become one node.
func (n *Node) Compact() *Node {
	out := *n
	out.Children = nil
	well := 0
	for _, c := range n.Children {
		switch {
		case n.Cluster != "" && c.State == why.OK:
			well++
		case c.Kind == "ManifestWork" && len(c.Children) == 1 && (c.State == why.OK || c.State == why.Unknown):
			only := c.Children[0].Compact()
			out.Cluster, out.Children = only.Cluster, append(out.Children, only.Children...)
		default:
			out.Children = append(out.Children, c.Compact())
		}
	}
	if well > 0 {
		out.Children = append(out.Children, &Node{Name: plural(well, "resource"), Cluster: n.Cluster, State: why.OK, Status: "all well"})
	}
	return &out
}

// words joins the non-empty words with commas.
func words(list ...string) string {
	return strings.Join(slices.Compact(slices.DeleteFunc(list, func(s string) bool { return s == "" })), ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
