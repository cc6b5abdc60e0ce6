package propagation

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/generator"
)

// observeChoice reads whether the ApplicationSet takes clusters from Placements, and whether a Placement still chooses
// the cluster of the Application. delivery requests the choice only for an Application in deletion, on a cluster that
// is unavailable or was unavailable a moment ago. The specs of ApplicationSets are not in the cache.
// PlacementDecisions are in the cache only if rights depend on them.
func (r *Reconciler) observeChoice(ctx context.Context, seen *observation) error {
	seen.Choice = delivery.Choice{}
	spec, err := seen.setSpec(ctx)
	if spec == nil || err != nil {
		return err
	}
	decisions, err := seen.decisions(ctx, r.Grants)
	if err != nil {
		return err
	}
	name, _ := seen.App.ApplicationSet()
	seen.Choice = delivery.Choice{
		Set:       seen.App.Namespace + "/" + name,
		Chosen:    generator.Follows(spec, decisions),
		Unwatched: !followsDecisions(r.Grants),
	}
	return nil
}

// setSpec returns the spec of the Application's ApplicationSet if the set exists, is not being deleted, and takes
// clusters from Placements; nil otherwise. An ApplicationSet of the same name with a different UID does not count.
func (seen *observation) setSpec(ctx context.Context) ([]byte, error) {
	name, ok := seen.App.ApplicationSet()
	if !ok {
		return nil, nil
	}
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	err := seen.live.Get(ctx, types.NamespacedName{Namespace: seen.App.Namespace, Name: name}, set)
	switch {
	case hub.IsAbsent(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case set.GetDeletionTimestamp() != nil, set.GetUID() != metav1.GetControllerOf(seen.App).UID:
		return nil, nil
	}
	spec, err := json.Marshal(set.Object["spec"])
	if err != nil || !generator.Chooses(spec) {
		return nil, err
	}
	return spec, nil
}

// decisions returns the PlacementDecisions with the cluster of the Application. An ApplicationSet can read decisions in
// two namespaces: in the Application's own namespace, and in the namespace of the hub's Argo CD.
func (seen *observation) decisions(ctx context.Context, g *grants.Checker) ([]clusterv1beta1.PlacementDecision, error) {
	reader := seen.reader
	if !followsDecisions(g) {
		reader = seen.live
	}
	namespaces := []string{seen.App.Namespace, cmp.Or(g.ArgoCDNamespace, apis.DefaultArgoCDNamespace)}
	slices.Sort(namespaces)
	var out []clusterv1beta1.PlacementDecision
	for _, namespace := range slices.Compact(namespaces) {
		list := &clusterv1beta1.PlacementDecisionList{}
		err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, err
		}
		for i := range list.Items {
			if slices.Contains(index.DecidedBy(&list.Items[i]), seen.App.Cluster()) {
				out = append(out, list.Items[i])
			}
		}
	}
	return out, nil
}

// followsDecisions reports whether Towline watches PlacementDecisions, because rights depend on PlacementDecisions.
func followsDecisions(g *grants.Checker) bool { return g.Clusters != grants.None }
