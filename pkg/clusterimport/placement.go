package clusterimport

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// selection is the choice of a Placement.
type selection struct {
	// clusters are the sorted names of the chosen clusters.
	clusters []string

	// settled is true if the Placement's status and decisions agree, and the Placement had clusters to choose from.
	// While the placement controller moves clusters between PlacementDecisions, a chosen cluster may be in none.
	settled bool

	// why is the Placement's own reason for too few clusters; empty for none.
	why string
}

func (s *selection) has(cluster string) bool {
	_, found := slices.BinarySearch(s.clusters, cluster)
	return found
}

// PlacementKey returns the key of the Placement of a GitOpsCluster; empty for an unusable reference.
func PlacementKey(g *v1beta1.GitOpsCluster) types.NamespacedName {
	if badReference(g) != "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.PlacementRef.Name}
}

// badReference returns why the placement reference of a GitOpsCluster is unusable; empty for a usable reference.
func badReference(g *v1beta1.GitOpsCluster) string {
	ref := g.Spec.PlacementRef
	switch {
	case ref == nil || ref.Name == "":
		return "spec.placementRef names no Placement: set its name"
	case ref.Kind != "" && ref.Kind != "Placement":
		return fmt.Sprintf("spec.placementRef.kind is %.80q: only Placement of cluster.open-cluster-management.io/v1beta1 is supported", ref.Kind)
	case ref.APIVersion != "" && ref.APIVersion != clusterv1beta1.GroupVersion.String():
		return fmt.Sprintf("spec.placementRef.apiVersion is %.80q: use %s", ref.APIVersion, clusterv1beta1.GroupVersion)
	case ref.Namespace != "" && ref.Namespace != g.Namespace:
		return fmt.Sprintf("spec.placementRef.namespace is %.80q: a Placement of another namespace than the GitOpsCluster's own, %s, cannot be used",
			ref.Namespace, g.Namespace)
	}
	return ""
}

// selection returns the choice of the Placement; nil if unknown.
func (f *Facts) selection() *selection {
	if f.Placement == nil || len(f.Decisions) == 0 {
		return nil
	}
	p, s := outlineOf(f.Placement), &selection{}
	for i := range f.Decisions {
		s.clusters = append(s.clusters, Decided(&f.Decisions[i])...)
	}
	slices.Sort(s.clusters)
	named := len(s.clusters)
	s.clusters = slices.Compact(s.clusters)
	s.settled = !p.going && len(s.clusters) == named && (p.byOthers || int(p.selected) == named && p.looked)
	s.why = p.unsatisfied
	return s
}

// Decided returns the cluster names in a PlacementDecision.
func Decided(d *clusterv1beta1.PlacementDecision) []string {
	var out []string
	for _, decision := range d.Status.Decisions {
		if decision.ClusterName != "" {
			out = append(out, decision.ClusterName)
		}
	}
	return out
}

// placementOutline holds the fields of a Placement for decisions.
type placementOutline struct {
	// selected is the number of chosen clusters in the status.
	selected int32

	// byOthers is set if OCM's placement controller does not write the decisions. Other writers may leave out the
	// status.
	byOthers bool

	// going is set if the Placement is being deleted.
	going bool

	// looked is set if the Placement has looked at clusters. A Placement restored from a backup has no status.
	looked bool

	// unsatisfied is the Placement's own reason for too few clusters; empty for none.
	unsatisfied string
}

// nothingToChoose are the reasons of a Placement (v1.2.0) without any cluster to choose from. A
// ManagedClusterSetBinding or a ManagedClusterSet is missing. Then the Placement has passed over no cluster.
var nothingToChoose = []string{"NoManagedClusterSetBindings", "NoIntersection"}

func outlineOf(p *clusterv1beta1.Placement) placementOutline {
	out := placementOutline{
		selected: p.Status.NumberOfSelectedClusters,
		byOthers: p.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true",
		going:    !p.DeletionTimestamp.IsZero(),
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied); c != nil {
		out.looked = !slices.Contains(nothingToChoose, c.Reason)
		if c.Status != metav1.ConditionTrue {
			out.unsatisfied = c.Reason + ": " + c.Message
		}
	}
	return out
}
