// Package generator tells which ApplicationSets follow the decisions of a Placement. It is pure. controllers/decisions calls it.
package generator

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// deepest is how deep generators are nested at most: matrix and merge may hold one more level of themselves (Argo CD 2.14 and 3).
const deepest = 4

// one is a generator of an ApplicationSet, as far as it matters here.
type one struct {
	ClusterDecisionResource *struct {
		Name          string               `json:"name"`
		LabelSelector metav1.LabelSelector `json:"labelSelector"`
	} `json:"clusterDecisionResource"`
	Matrix *nested `json:"matrix"`
	Merge  *nested `json:"merge"`
}

type nested struct {
	Generators []one `json:"generators"`
}

// Follows tells whether an ApplicationSet with that spec has a clusterDecisionResource generator, be it nested, that reads one of those
// PlacementDecisions. A spec that cannot be read follows none.
func Follows(spec []byte, decisions []clusterv1beta1.PlacementDecision) bool {
	var parsed nested
	if json.Unmarshal(spec, &parsed) != nil {
		return false
	}
	return parsed.follows(decisions, deepest)
}

func (n *nested) follows(decisions []clusterv1beta1.PlacementDecision, depth int) bool {
	if n == nil || depth == 0 {
		return false
	}
	return slices.ContainsFunc(n.Generators, func(g one) bool {
		return g.reads(decisions) || g.Matrix.follows(decisions, depth-1) || g.Merge.follows(decisions, depth-1)
	})
}

// reads tells whether the generator itself reads one of them: by name, or by labels.
func (g *one) reads(decisions []clusterv1beta1.PlacementDecision) bool {
	if g.ClusterDecisionResource == nil {
		return false
	}
	if name := g.ClusterDecisionResource.Name; name != "" {
		return slices.ContainsFunc(decisions, func(d clusterv1beta1.PlacementDecision) bool { return d.Name == name })
	}
	selector, err := metav1.LabelSelectorAsSelector(&g.ClusterDecisionResource.LabelSelector)
	if err != nil || selector.Empty() { // Argo CD refuses a generator that selects by nothing
		return false
	}
	return slices.ContainsFunc(decisions, func(d clusterv1beta1.PlacementDecision) bool { return selector.Matches(labels.Set(d.Labels)) })
}
