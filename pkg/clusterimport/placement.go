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

// PlacementKey is the key of the Placement of a GitOpsCluster; empty where it names none that can be used.
func PlacementKey(g *v1beta1.GitOpsCluster) types.NamespacedName {
	if badReference(g) != "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.PlacementRef.Name}
}

// badReference is why the Placement that a GitOpsCluster names cannot be used; empty where it can.
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

// selection is what the Placement has chosen; nil where that is not known.
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

// Decided are the clusters that a PlacementDecision names.
func Decided(d *clusterv1beta1.PlacementDecision) []string {
	var out []string
	for _, decision := range d.Status.Decisions {
		if decision.ClusterName != "" {
			out = append(out, decision.ClusterName)
		}
	}
	return out
}

// placementOutline is all that a decision reads of a Placement.
type placementOutline struct {
	// selected is how many clusters its status says it has chosen.
	selected int32

	// byOthers is set when others than OCM's placement controller write its decisions: they need not write the status.
	byOthers bool

	// going is set when it is being deleted.
	going bool

	// looked is set when it has looked at clusters. One that was put back from a backup has no status.
	looked bool

	// unsatisfied is why it has not chosen more, in its own words; empty when it is content.
	unsatisfied string
}

// nothingToChoose are the reasons of a Placement (v1.2.0) that has nothing to choose from, because a ManagedClusterSetBinding or a
// ManagedClusterSet is missing: none of its clusters was passed over.
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
