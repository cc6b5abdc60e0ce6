package gitopscluster

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// selection is what a Placement has chosen.
type selection struct {
	// clusters are the names of the chosen clusters, sorted.
	clusters []string

	// settled says that the Placement's status and its decisions agree, and that it had something to choose from. While the
	// placement controller moves clusters from one PlacementDecision to another, a chosen cluster may be in none.
	settled bool

	// why is the Placement's own word on why it has not chosen more; empty when it is content.
	why string
}

func (s *selection) has(cluster string) bool {
	_, found := slices.BinarySearch(s.clusters, cluster)
	return found
}

// placementOf is the key of the Placement of a GitOpsCluster, or a Problem.
func placementOf(g *v1beta1.GitOpsCluster) (types.NamespacedName, *Problem) {
	ref := g.Spec.PlacementRef
	switch {
	case ref == nil || ref.Name == "":
		return types.NamespacedName{}, problemf(apis.ReasonPlacementRefInvalid,
			"spec.placementRef names no Placement: set its name")
	case ref.Kind != "" && ref.Kind != "Placement":
		return types.NamespacedName{}, problemf(apis.ReasonPlacementRefInvalid,
			"spec.placementRef.kind is %.80q: only Placement of cluster.open-cluster-management.io/v1beta1 is supported", ref.Kind)
	case ref.APIVersion != "" && ref.APIVersion != clusterv1beta1.GroupVersion.String():
		return types.NamespacedName{}, problemf(apis.ReasonPlacementRefInvalid,
			"spec.placementRef.apiVersion is %.80q: use %s", ref.APIVersion, clusterv1beta1.GroupVersion)
	case ref.Namespace != "" && ref.Namespace != g.Namespace:
		return types.NamespacedName{}, problemf(apis.ReasonPlacementRefInvalid,
			"spec.placementRef.namespace is %.80q: a Placement of another namespace than the GitOpsCluster's own, %s, cannot be used",
			ref.Namespace, g.Namespace)
	}
	return types.NamespacedName{Namespace: g.Namespace, Name: ref.Name}, nil
}

// choose reads what the Placement of a GitOpsCluster has chosen.
func (r *Reconciler) choose(ctx context.Context, from client.Reader, g *v1beta1.GitOpsCluster) (*selection, error) {
	key, problem := placementOf(g)
	if problem != nil {
		return nil, problem
	}
	placement := &clusterv1beta1.Placement{}
	if err := from.Get(ctx, key, placement); apierrors.IsNotFound(err) {
		return nil, problemf(apis.ReasonPlacementNotFound,
			"there is no Placement %s: create it, or correct spec.placementRef; what was imported before stays", key)
	} else if err != nil {
		return nil, err
	}
	decisions := &clusterv1beta1.PlacementDecisionList{}
	err := from.List(ctx, decisions, client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: key.Name})
	if err != nil {
		return nil, err
	}
	if len(decisions.Items) == 0 {
		return nil, problemf(apis.ReasonPlacementPending,
			"Placement %s has no PlacementDecision yet: does OCM's placement controller run?", key)
	}
	return chosenBy(placement, decisions.Items), nil
}

// chosenBy is what a Placement and its decisions say together.
func chosenBy(placement *clusterv1beta1.Placement, decisions []clusterv1beta1.PlacementDecision) *selection {
	s := &selection{}
	for i := range decisions {
		for _, d := range decisions[i].Status.Decisions {
			if d.ClusterName != "" {
				s.clusters = append(s.clusters, d.ClusterName)
			}
		}
	}
	slices.Sort(s.clusters)
	named := len(s.clusters)
	s.clusters = slices.Compact(s.clusters)
	byOthers := placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" // they need not write the status
	s.settled = placement.DeletionTimestamp.IsZero() && len(s.clusters) == named &&
		(byOthers || int(placement.Status.NumberOfSelectedClusters) == named && hadChoice(placement))
	s.why = unsatisfied(placement)
	return s
}

// nothingToChoose are the reasons of a Placement (v1.2.0) that has nothing to choose from, because a ManagedClusterSetBinding or a
// ManagedClusterSet is missing: none of its clusters was passed over.
var nothingToChoose = []string{"NoManagedClusterSetBindings", "NoIntersection"}

// hadChoice tells whether a Placement has looked at clusters. One that was put back from a backup has no status.
func hadChoice(placement *clusterv1beta1.Placement) bool {
	c := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	return c != nil && !slices.Contains(nothingToChoose, c.Reason)
}

// unsatisfied is why a Placement has not chosen more, in its own words; empty when it is content.
func unsatisfied(placement *clusterv1beta1.Placement) string {
	c := meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ""
	}
	return c.Reason + ": " + c.Message
}
