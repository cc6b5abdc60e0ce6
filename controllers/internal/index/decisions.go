package index

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// ByDecision finds the PlacementDecisions that name a given ManagedCluster.
const ByDecision = "decision"

// ByPlacement finds the Applications that follow a given Placement, by its "<namespace>/<name>": that of their own namespace.
const ByPlacement = "placement"

// AddFollowers registers ByPlacement.
func AddFollowers(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &argocd.Application{}, ByPlacement, func(obj client.Object) []string {
		if name := obj.(*argocd.Application).Placement(); name != "" {
			return []string{obj.GetNamespace() + "/" + name}
		}
		return nil
	})
}

// Followers are the Applications of a namespace that follow the Placement of that name.
func Followers(ctx context.Context, c client.Reader, namespace, placement string) []types.NamespacedName {
	return lookUp(ctx, c, client.MatchingFields{ByPlacement: namespace + "/" + placement})
}

// AddDecisions registers ByDecision, which a hub without placements cannot have. A cache takes it once.
func AddDecisions(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &clusterv1beta1.PlacementDecision{}, ByDecision, DecidedBy)
}

// DecidedBy are the clusters that a PlacementDecision names.
func DecidedBy(decision client.Object) []string {
	decisions := decision.(*clusterv1beta1.PlacementDecision).Status.Decisions
	out := make([]string, len(decisions))
	for i := range decisions {
		out[i] = decisions[i].ClusterName
	}
	return out
}
