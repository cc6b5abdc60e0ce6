package index

import (
	"context"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/clusterimport"
)

// ByDecision finds the PlacementDecisions that name a given ManagedCluster.
const ByDecision = "decision"

// AddDecisions registers ByDecision. A hub without placements cannot have the index. A cache accepts each index only
// once.
func AddDecisions(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &clusterv1beta1.PlacementDecision{}, ByDecision, DecidedBy)
}

// DecidedBy returns the clusters named by a PlacementDecision.
func DecidedBy(decision client.Object) []string {
	return clusterimport.Decided(decision.(*clusterv1beta1.PlacementDecision))
}
