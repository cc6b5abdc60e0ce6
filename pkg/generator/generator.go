// Package generator finds the ApplicationSets with generators for the decisions of a Placement. The package is pure.
// controllers/decisions and kubectl towline call the package.
package generator

import (
	"encoding/json"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// deepest is the maximum depth of nested generators: a matrix or merge may contain a further level of matrix and
// merge (Argo CD 2.14 and 3).
const deepest = 4

// one is a generator of an ApplicationSet, with only the fields for the package.
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

// Follows reports whether an ApplicationSet with the spec has a clusterDecisionResource generator for a
// PlacementDecision in the list. Nested generators count too. The result is false for an unreadable spec.
func Follows(spec []byte, decisions []clusterv1beta1.PlacementDecision) bool {
	for g := range all(spec) {
		if g.reads(decisions) {
			return true
		}
	}
	return false
}

// Chooses reports whether an ApplicationSet with the spec has any clusterDecisionResource generator, possibly nested.
// The result is false for an unreadable spec.
func Chooses(spec []byte) bool {
	for g := range all(spec) {
		if g.ClusterDecisionResource != nil {
			return true
		}
	}
	return false
}

// Labels returns the label selectors of the clusterDecisionResource generators of a spec, possibly nested, if the
// labels name a Placement. An unreadable spec has none.
func Labels(spec []byte) (out []map[string]string) {
	for g := range all(spec) {
		if c := g.ClusterDecisionResource; c != nil && c.LabelSelector.MatchLabels[clusterv1beta1.PlacementLabel] != "" {
			out = append(out, c.LabelSelector.MatchLabels)
		}
	}
	return out
}

// ConfigMaps returns the names of the ConfigMaps for the clusterDecisionResource generators of a spec, possibly
// nested.
func ConfigMaps(spec []byte) (out []string) {
	for g := range all(spec) {
		if c := g.ClusterDecisionResource; c != nil && c.ConfigMapRef != "" {
			out = append(out, c.ConfigMapRef)
		}
	}
	return out
}

// all returns the generators of a spec. Nested generators follow their parent.
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

// reads reports whether the generator, without its nested generators, reads a decision from the list, by name or by
// labels.
func (g *one) reads(decisions []clusterv1beta1.PlacementDecision) bool {
	if g.ClusterDecisionResource == nil {
		return false
	}
	if name := g.ClusterDecisionResource.Name; name != "" {
		return slices.ContainsFunc(decisions, func(d clusterv1beta1.PlacementDecision) bool { return d.Name == name })
	}
	selector, err := metav1.LabelSelectorAsSelector(&g.ClusterDecisionResource.LabelSelector)
	if err != nil || selector.Empty() { // Argo CD refuses a generator with an empty selector
		return false
	}
	return slices.ContainsFunc(decisions, func(d clusterv1beta1.PlacementDecision) bool { return selector.Matches(labels.Set(d.Labels)) })
}
