package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/why"
)

// whyOptions are the options of `kubectl towline why`.
type whyOptions struct {
	*options

	cluster string
	trace   bool
}

func newWhyCommand(o *options) *cobra.Command {
	w := &whyOptions{options: o}
	cmd := &cobra.Command{
		Use:   "why (APPLICATION | APPLICATIONSET --cluster CLUSTER)",
		Short: "Show the progress of an Application's delivery, the cause of a stop, and who can fix the cause",
		Example: "  # Why is the Application not on its cluster?\n" +
			"  kubectl towline why -n argocd cluster1-guestbook-app\n\n" +
			"  # Why has the ApplicationSet no Application on cluster7?\n" +
			"  kubectl towline why -n argocd guestbook-app-set --cluster cluster7\n\n" +
			"  # Which checks have passed, and how far is the removal?\n" +
			"  kubectl towline why -n argocd cluster1-guestbook-app --trace",
		Args: oneName("an Application or an ApplicationSet"),
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args[0]) },

		ValidArgsFunction: one(o.complete(applicationKind, applicationSetKind)),
	}
	cmd.Flags().StringVar(&w.cluster, "cluster", "", "the cluster on which an ApplicationSet's Application is missing")
	cmd.Flags().BoolVar(&w.trace, "trace", false, "show the checks and steps of Towline's decision as well, in order")
	o.completeFlag(cmd, "cluster", clusterKind)
	return cmd
}

func (o *whyOptions) run(ctx context.Context, name string) error {
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	h, err := o.connect()
	if err != nil {
		return err
	}
	facts, err := h.facts(ctx, &o.towline, types.NamespacedName{Namespace: namespace, Name: name}, o.cluster)
	if err != nil {
		return err
	}
	diagnosis := why.Of(facts)
	if o.trace && facts.Plan != nil {
		diagnosis.Trace = facts.Plan.Trace
	}
	if err := o.printDiagnosis(diagnosis, facts.Now); err != nil {
		return err
	}
	if v := diagnosis.Verdict(); v != why.OK {
		return found(v)
	}
	return nil
}

// facts reads the delivery of an Application, or of an ApplicationSet's Application on a cluster.
func (h *hub) facts(ctx context.Context, t *reading.Flags, key types.NamespacedName, cluster string) (*why.Facts, error) {
	h.read = map[string]client.Object{} // the command reads each object once, and the decision reads the same objects again
	defer func() { h.read = nil }()
	f := &why.Facts{Now: time.Now(), Cluster: cluster}
	var err error
	if cluster != "" {
		f.App, err = h.applicationOn(ctx, key, cluster)
	} else {
		f.App, err = reading.Get(ctx, h, key, &argocd.Application{})
		if err == nil && f.App == nil {
			err = fmt.Errorf("the Application %s does not exist: for the Application of an ApplicationSet on a cluster, add --cluster", key)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := h.set(ctx, f, key); err != nil {
		return nil, err
	}
	if f.App != nil {
		if err := h.decide(ctx, f, t); err != nil {
			return nil, err
		}
		if err := reading.Source(ctx, h, f); err != nil {
			return nil, err
		}
		if err := reading.Differences(ctx, h.Client, f); err != nil { // a refused read here hides nothing about the delivery
			return nil, err
		}
	}
	f.Unread = slices.Sorted(slices.Values(h.unread.Lines()))
	return f, nil
}

// applicationOn returns the Application of an ApplicationSet on a cluster; nil for none.
func (h *hub) applicationOn(ctx context.Context, set types.NamespacedName, cluster string) (*argocd.Application, error) {
	list := metadataList(applicationKind)
	if err := h.List(ctx, list, client.InNamespace(set.Namespace), client.HasLabels{apis.LabelPull}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		m := &argocd.Application{ObjectMeta: list.Items[i].ObjectMeta}
		if name, ok := m.ApplicationSet(); ok && name == set.Name && m.Cluster() == cluster {
			return reading.Get(ctx, h, client.ObjectKeyFromObject(m), &argocd.Application{})
		}
	}
	return nil, nil //nolint:nilnil // documented
}

// decide reads Towline's decision about the Application, and the progress of the delivery.
func (h *hub) decide(ctx context.Context, f *why.Facts, t *reading.Flags) error {
	if err := t.Read(ctx, h); err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	explainer, err := t.Explainer(h)
	if err != nil {
		return err
	}
	facts, plan, err := explainer.Explain(ctx, f.App)
	switch {
	case err == nil && len(h.unread.Lines()) == 0:
		managed := facts.Clusters[f.App.Cluster()]
		f.Plan, f.Work, f.Managed = plan, facts.Own, &managed
		return nil
	case err != nil && !apierrors.IsForbidden(err):
		return err
	}
	return reading.Delivery(ctx, h, f)
}

// set reads the ApplicationSet of the Application, or the requested ApplicationSet.
func (h *hub) set(ctx context.Context, f *why.Facts, asked types.NamespacedName) error {
	key := asked
	if f.App != nil {
		name, ok := f.App.ApplicationSet()
		if !ok {
			return nil
		}
		key = types.NamespacedName{Namespace: f.App.Namespace, Name: name}
	}
	set, err := reading.Get(ctx, h, key, newApplicationSet())
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Set = &why.Set{Namespace: key.Namespace, Name: key.Name, Missing: set == nil}
	if set == nil {
		return nil
	}
	f.Set.Applications, f.Set.Conditions = set.applications(), set.conditions()
	if f.App != nil {
		return nil
	}
	return h.generators(ctx, f, set)
}

// generators reads the inputs of the ApplicationSet's generators.
func (h *hub) generators(ctx context.Context, f *why.Facts, set *applicationSet) error {
	for _, g := range set.decisionGenerators() {
		decisions := &clusterv1beta1.PlacementDecisionList{}
		if err := h.List(ctx, decisions, client.InNamespace(f.Set.Namespace), client.MatchingLabels(g)); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
		p := why.Placement{Name: g[clusterv1beta1.PlacementLabel], Missing: len(decisions.Items) == 0}
		for i := range decisions.Items {
			for _, d := range decisions.Items[i].Status.Decisions {
				p.Clusters++
				p.Chosen = p.Chosen || d.ClusterName == f.Cluster
			}
		}
		f.Set.Placements = append(f.Set.Placements, p)
	}
	if len(f.Set.Placements) == 0 {
		return nil
	}
	return h.secret(ctx, f)
}

// secret reads whether Argo CD has a Secret of the cluster. It reads only the metadata of Secrets.
func (h *hub) secret(ctx context.Context, f *why.Facts) error {
	secrets := metadataList(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := h.List(ctx, secrets, client.InNamespace(f.Set.Namespace), client.MatchingLabels{apis.LabelSecretType: apis.SecretTypeCluster})
	switch {
	case apierrors.IsForbidden(err):
		f.Set.Secret = why.SecretUnread
		return nil
	case err != nil:
		return err
	}
	f.Set.Secret = why.SecretMissing
	for i := range secrets.Items {
		switch secrets.Items[i].Labels[apis.LabelClusterName] {
		case f.Cluster:
			f.Set.Secret = why.SecretFound
			return nil
		case "": // a manually created Secret names the cluster only in its data, and the data is not read
			f.Set.Secret = why.SecretUnread
		}
	}
	return nil
}
