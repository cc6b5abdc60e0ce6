// Package generator tells which ApplicationSets follow the decisions of a Placement. It is pure. controllers/decisions calls it, and
// kubectl towline.
package generator

import (
	"encoding/json"
	"iter"
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
		ConfigMapRef  string               `json:"configMapRef"`
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
	for g := range all(spec) {
		if g.reads(decisions) {
			return true
		}
	}
	return false
}

// Chooses tells whether an ApplicationSet with that spec has a clusterDecisionResource generator at all, be it nested. A spec that
// cannot be read has none.
func Chooses(spec []byte) bool {
	for g := range all(spec) {
		if g.ClusterDecisionResource != nil {
			return true
		}
	}
	return false
}

// Labels are those by which clusterDecisionResource generators of a spec, be they nested, select the decisions of a Placement that
// they name. A spec that cannot be read has none.
func Labels(spec []byte) (out []map[string]string) {
	for g := range all(spec) {
		if c := g.ClusterDecisionResource; c != nil && c.LabelSelector.MatchLabels[clusterv1beta1.PlacementLabel] != "" {
			out = append(out, c.LabelSelector.MatchLabels)
		}
	}
	return out
}

// ConfigMaps are the names of the ConfigMaps that clusterDecisionResource generators of a spec read, be the generators nested.
func ConfigMaps(spec []byte) (out []string) {
	for g := range all(spec) {
		if c := g.ClusterDecisionResource; c != nil && c.ConfigMapRef != "" {
			out = append(out, c.ConfigMapRef)
		}
	}
	return out
}

// all are the generators of a spec, those that are nested behind the one that they are in.
func all(spec []byte) iter.Seq[*one] {
	return func(yield func(*one) bool) {
		var parsed nested
		if json.Unmarshal(spec, &parsed) == nil {
			parsed.walk(deepest, yield)
		}
	}
}

func (n *nested) walk(depth int, yield func(*one) bool) bool {
	if n == nil || depth == 0 {
		return true
	}
	for i := range n.Generators {
		g := &n.Generators[i]
		if !yield(g) || !g.Matrix.walk(depth-1, yield) || !g.Merge.walk(depth-1, yield) {
			return false
		}
	}
	return true
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
