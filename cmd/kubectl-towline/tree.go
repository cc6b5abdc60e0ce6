package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
	"github.com/towline-io/towline/pkg/work"
)

// treeOptions are the options of `kubectl towline tree`.
type treeOptions struct {
	*options

	problems bool
	compact  bool
}

func newTreeCommand(o *options) *cobra.Command {
	t := &treeOptions{options: o}
	cmd := &cobra.Command{
		Use:   "tree (APPLICATION | APPLICATIONSET)",
		Short: "Show the resources of an Application or ApplicationSet on the clusters",
		Long: "Show the resources of an Application or ApplicationSet on the clusters: the Applications, the ManifestWorks, " +
			"the clusters' Applications, and the resources with the health.\n\n" +
			"If an Application and an ApplicationSet have the same name, appset/NAME means the ApplicationSet.",
		Example: "  kubectl towline tree -n argocd guestbook-app-set --problems\n\n" +
			"  kubectl towline tree -n argocd cluster1-guestbook-app --compact",
		Args:              oneName("an Application or an ApplicationSet"),
		RunE:              func(cmd *cobra.Command, args []string) error { return t.run(cmd.Context(), args[0]) },
		ValidArgsFunction: one(o.complete(applicationKind, applicationSetKind)),
	}
	cmd.Flags().BoolVar(&t.problems, "problems", false, "show only what has a problem")
	cmd.Flags().BoolVar(&t.compact, "compact", false, "show all healthy resources in one line, and no ManifestWorks")
	return cmd
}

func (t *treeOptions) run(ctx context.Context, arg string) error {
	namespace, err := t.namespace()
	if err != nil {
		return err
	}
	h, err := t.connect()
	if err != nil {
		return err
	}
	kind, key, err := h.named(ctx, namespace, arg)
	if err != nil {
		return err
	}
	n, err := h.tree(ctx, kind == applicationSetKind, key)
	if err != nil {
		return err
	}
	if t.problems {
		n = n.Problems()
	}
	if t.compact && n != nil {
		n = n.Compact()
	}
	name := strings.ToLower(kind.Kind) + ".argoproj.io/" + key.String()
	if done, err := t.printed(n, name); done || err != nil {
		return err
	}
	p := &printer{to: t.Out}
	if n == nil {
		p.line("%s all is well", t.glyph(why.OK))
	} else {
		t.print(p, n, "", "", "")
	}
	if p.err != nil {
		return p.err
	}
	return t.printUnread(h)
}

// tree reads the tree of an Application, or of an ApplicationSet.
func (h *hub) tree(ctx context.Context, set bool, key types.NamespacedName) (*view.Node, error) {
	if set {
		return h.treeOfSet(ctx, key)
	}
	app, err := reading.Get(ctx, h, key, &argocd.Application{})
	if err != nil {
		return nil, err
	}
	if app == nil {
		return nil, fmt.Errorf("the Application %s does not exist", key)
	}
	f := &view.TreeFacts{App: app}
	if app.Cluster() == "" {
		return view.TreeOf(f), nil
	}
	if f.Work, err = reading.Get(ctx, h, work.Key(app), &workv1.ManifestWork{}); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	f.WorkUnread = err != nil
	if f.Report, err = reading.Get(ctx, h, work.Key(app), &v1alpha1.ApplicationReport{}); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return view.TreeOf(f), nil
}

// treeOfSet reads the tree of an ApplicationSet. The ManifestWorks come from a single list, by label.
func (h *hub) treeOfSet(ctx context.Context, key types.NamespacedName) (*view.Node, error) {
	works := map[types.NamespacedName]*workv1.ManifestWork{}
	labels := client.MatchingLabels{apis.LabelApplicationSetHash: work.SetHash(key)}
	err := pages(ctx, h, &workv1.ManifestWorkList{}, pageSize, func(page *workv1.ManifestWorkList) error {
		for i := range page.Items {
			w := &page.Items[i]
			w.Spec = workv1.ManifestWorkSpec{} // the spec is large, and not shown
			works[client.ObjectKeyFromObject(w)] = w
		}
		return nil
	}, labels)
	unread := apierrors.IsForbidden(err)
	if err != nil && !unread {
		return nil, err
	}
	var nodes []*view.Node
	take := func(app *argocd.Application) {
		if view.Of(app, key.Namespace, key.Name) {
			nodes = append(nodes, view.TreeOf(&view.TreeFacts{App: app, Work: works[work.Key(app)], WorkUnread: unread}))
		}
	}
	if err := applications(ctx, h, take, client.InNamespace(key.Namespace)); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		set, err := reading.Get(ctx, h, key, metadata(applicationSetKind))
		if err == nil && set == nil {
			err = fmt.Errorf("ApplicationSet %s does not exist", key)
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
	}
	return view.TreeOfSet(key.Namespace, key.Name, nodes), nil
}

// print prints a node with all nodes below. before and below are the tree lines in front of the text.
func (t *treeOptions) print(p *printer, n *view.Node, before, below, cluster string) {
	name := n.Name
	if n.Namespace != "" {
		name = n.Namespace + "/" + name
	}
	if n.Kind != "" {
		name = n.Kind + " " + name
	}
	if n.Cluster != "" && n.Cluster != cluster {
		name += " on " + n.Cluster
	}
	line := fmt.Sprintf("%s%s %s", before, t.glyph(n.State), bounded(name))
	if n.Status != "" {
		line += " (" + bounded(n.Status) + ")"
	}
	if n.Message != "" {
		line += ": " + bounded(t.problem("", n.Message))
	}
	p.line("%s", line)
	for i, c := range n.Children {
		if i == len(n.Children)-1 {
			t.print(p, c, below+"└─ ", below+"   ", n.Cluster)
		} else {
			t.print(p, c, below+"├─ ", below+"│  ", n.Cluster)
		}
	}
}
