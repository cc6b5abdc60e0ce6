package clusterimport

import (
	"slices"
	"strings"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// SameGitOpsCluster reports whether two states of a GitOpsCluster lead to the same decision. Of the status, only the
// namespaces and the older controller's conditions count.
func SameGitOpsCluster(a, b *v1beta1.GitOpsCluster) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		slices.Equal(a.Finalizers, b.Finalizers) && slices.Equal(noted(a), noted(b)) && IsOlders(a) == IsOlders(b)
}

// SamePlacement reports whether two states of a Placement lead to the same decision.
func SamePlacement(a, b *clusterv1beta1.Placement) bool { return outlineOf(a) == outlineOf(b) }

// SameDecision reports whether two states of a PlacementDecision lead to the same decision.
func SameDecision(a, b *clusterv1beta1.PlacementDecision) bool {
	return a.Labels[clusterv1beta1.PlacementLabel] == b.Labels[clusterv1beta1.PlacementLabel] && slices.Equal(Decided(a), Decided(b))
}

// noted returns the valid namespaces in the GitOpsCluster's annotation.
func noted(g *v1beta1.GitOpsCluster) []string {
	names := strings.Split(g.Annotations[apis.AnnotationArgoNamespaces], ",")
	return slices.DeleteFunc(names, func(name string) bool { return validNamespace(name) != "" })
}

// Put sets marks on a GitOpsCluster.
func (m Marks) Put(g *v1beta1.GitOpsCluster) {
	g.Finalizers = without(g.Finalizers, apis.FinalizerClusterSecrets)
	if m.Finalizer {
		g.Finalizers = append(g.Finalizers, apis.FinalizerClusterSecrets)
	}
	delete(g.Annotations, apis.AnnotationArgoNamespaces)
	if len(m.Namespaces) == 0 {
		return
	}
	if g.Annotations == nil {
		g.Annotations = map[string]string{}
	}
	g.Annotations[apis.AnnotationArgoNamespaces] = strings.Join(m.Namespaces, ",")
}
