package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

const (
	// leaseName is the Lease that a cluster's registration agent renews, in the cluster's namespace (Open Cluster
	// Management 1).
	leaseName = "managed-cluster-lease"

	// addonLabel is the label of an add-on's ManifestWorks, with the name of the add-on (Open Cluster Management 1).
	addonLabel = "open-cluster-management.io/addon-name"

	// agentAddon is the name of Towline's add-on.
	agentAddon = "towline-agent"
)

func newClustersCommand(o *options) *cobra.Command {
	s := &scope{options: o, all: true}
	cmd := &cobra.Command{
		Use:     "clusters [CLUSTER]",
		Aliases: []string{"cluster"},
		Short:   "Show managed clusters, and how many Applications have a problem",
		Long: "Show managed clusters: how many Applications each cluster has, how many Applications are blocked or waiting, when the hub last heard " +
			"from the cluster, and the versions of Kubernetes and of Towline's agent. If you name a cluster, the command also shows the " +
			"Applications and the missing rights on the cluster.\n\n" +
			"If you may not list the Applications of all namespaces, use --one-namespace.",
		Example: "  kubectl towline clusters --problems\n\n" +
			"  kubectl towline clusters cluster7",
		Args:              cobra.MaximumNArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return s.clusters(cmd.Context(), args) },
		ValidArgsFunction: one(o.complete(clusterKind)),
	}
	var only bool
	cmd.Flags().BoolVar(&only, "one-namespace", false, "count only the Applications of one namespace: --namespace, or the namespace of the kubeconfig")
	cmd.Flags().BoolVar(&s.problems, "problems", false, "show only what is blocked or waiting")
	cmd.PreRun = func(*cobra.Command, []string) { s.all = !only }
	return cmd
}

func (s *scope) clusters(ctx context.Context, args []string) error {
	h, namespace, err := s.begin()
	if err != nil {
		return err
	}
	list, err := rows(ctx, h, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	facts, err := h.clusterFacts(ctx, args)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return s.cluster(h, args[0], list, facts)
	}
	found := view.ClustersOf(list, facts)
	if s.problems {
		found = view.ProblemClusters(found)
	}
	return s.show(h, found, clusterNames(found), func() *table { return s.clusterTable(found) })
}

// cluster shows a cluster and the Applications on the cluster.
func (s *scope) cluster(h *hub, name string, list []view.Row, facts *view.ClusterFacts) error {
	list = slices.DeleteFunc(list, func(r view.Row) bool { return r.Cluster != name })
	all := view.ClustersOf(list, facts)
	i := slices.IndexFunc(all, func(c view.Cluster) bool { return c.Name == name })
	if i < 0 {
		if facts.ManagedUnread {
			return cmp.Or(s.printUnread(h), error(found(why.Unknown)))
		}
		return fmt.Errorf("ManagedCluster %s does not exist, and no Application names this cluster", name)
	}
	view.SortWorst(list)
	if s.problems {
		list = view.Problems(list)
	}
	v := struct {
		view.Cluster `json:",inline"`
		Rows         []view.Row `json:"rows"`
	}{all[i], list}
	if done, err := s.printed(v, "managedcluster.cluster.open-cluster-management.io/"+name); done || err != nil {
		return err
	}
	p := &printer{to: s.Out}
	s.clusterTable(all[i:i+1]).write(p, 0)
	for _, m := range v.MissingRights {
		p.line("%s a right is missing on the cluster: %s", s.glyph(why.Blocked), plain(m))
	}
	if p.line(""); len(list) > 0 {
		s.rowTable(list, true).write(p, 0)
	}
	if p.err != nil {
		return p.err
	}
	return s.printUnread(h)
}

// clusterFacts reads the facts about clusters, without Applications: for a single cluster, or for all.
func (h *hub) clusterFacts(ctx context.Context, only []string) (*view.ClusterFacts, error) {
	f := &view.ClusterFacts{Heard: map[string]time.Time{}, Agents: map[string]string{}}
	var named, inside []client.ListOption
	if len(only) > 0 {
		named, inside = append(named, client.MatchingFields{"metadata.name": only[0]}), append(inside, client.InNamespace(only[0]))
	}
	err := pages(ctx, h, &clusterv1.ManagedClusterList{}, pageSize, func(page *clusterv1.ManagedClusterList) error {
		f.Managed = append(f.Managed, page.Items...)
		return nil
	}, named...)
	if f.ManagedUnread = apierrors.IsForbidden(err); err != nil && !f.ManagedUnread {
		return nil, err
	}
	err = pages(ctx, h, &coordinationv1.LeaseList{}, pageSize, func(page *coordinationv1.LeaseList) error {
		for i := range page.Items {
			if t := page.Items[i].Spec.RenewTime; t != nil {
				f.Heard[page.Items[i].Namespace] = t.Time
			}
		}
		return nil
	}, append(slices.Clone(inside), client.MatchingFields{"metadata.name": leaseName})...)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	err = pages(ctx, h, &workv1.ManifestWorkList{}, pageSize, func(page *workv1.ManifestWorkList) error {
		for i := range page.Items {
			if v := reading.ImageVersion(&page.Items[i], agentAddon); v != "" {
				f.Agents[page.Items[i].Namespace] = v
			}
		}
		return nil
	}, append(inside, client.MatchingLabels{addonLabel: agentAddon})...)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return f, nil
}

func (s *scope) clusterTable(list []view.Cluster) *table {
	t := s.newTable("CLUSTER", "APPLICATIONS", "WAITING", "BLOCKED", "HEARD", "KUBERNETES", "AGENT", "WHY")
	for i := range list {
		c := &list[i]
		text := c.Message
		if n := len(c.MissingRights); n > 0 && text == "" {
			text = "rights are missing on the cluster: kubectl towline clusters " + c.Name
		}
		t.add(c.State, c.Name, fmt.Sprint(c.Counts.Applications), fmt.Sprint(c.Counts.Waiting), fmt.Sprint(c.Counts.Blocked), age(c.Heard),
			c.Kubernetes, c.Agent, s.problem("", text))
	}
	return t
}

func clusterNames(list []view.Cluster) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = "managedcluster.cluster.open-cluster-management.io/" + list[i].Name
	}
	return out
}
