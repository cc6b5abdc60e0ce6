package dependency

import (
	"bytes"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// SameApplication reports whether a change of an Application leaves the facts of decisions as is. The facts include
// the types of some conditions. Propagation, the cluster, or a user who removes the condition about dependencies
// changes these types.
func SameApplication(before, after *argocd.Application) bool {
	return before.UID == after.UID &&
		maps.Equal(before.Labels, after.Labels) &&
		maps.Equal(before.Annotations, after.Annotations) &&
		before.DeletionTimestamp.Equal(after.DeletionTimestamp) &&
		bytes.Equal(before.Spec.Raw, after.Spec.Raw) &&
		slices.Equal(telling(before), telling(after))
}

func telling(app *argocd.Application) []string {
	var out []string
	for _, c := range app.Status.Conditions {
		switch c.Type {
		case apis.ConditionPropagationForbiddenError, apis.ConditionDependencyError, InvalidSpec, NoComparison:
			out = append(out, c.Type)
		}
	}
	return out
}

// SameWork reports whether a change of a work leaves the facts of decisions as is. For a dependency work, the facts
// include the agent's answer.
func SameWork(before, after *workv1.ManifestWork) bool {
	_, ours := KindOf(after.Name)
	return before.Generation == after.Generation &&
		before.DeletionTimestamp.Equal(after.DeletionTimestamp) &&
		(!ours || maps.Equal(before.Labels, after.Labels) && maps.Equal(before.Annotations, after.Annotations) &&
			Seen(before) == Seen(after) && Applied(before) == Applied(after))
}

// SameScope reports whether a change of a Secret affects neither the scope nor the permission to travel.
func SameScope(a, b *corev1.Secret) bool {
	x, one := ReadScope(a)
	y, two := ReadScope(b)
	return one && two && x == y && propagates(a.Annotations) == propagates(b.Annotations)
}

// Alone reports whether an Application has no dependency to deliver and no condition about dependencies. keys are the
// works of its dependencies. Each cluster has the namespace of its Argo CD.
func Alone(app *argocd.Application, keys []types.NamespacedName, argocdNamespace string) bool {
	return app.Annotations[apis.AnnotationWith] == "" && argocd.IndexCondition(app.Status.Conditions, apis.ConditionDependencyError) < 0 &&
		!slices.ContainsFunc(keys, func(key types.NamespacedName) bool {
			return key != ObjectsKey(work.Key(app)) && key != ProjectKey(app.Cluster(), argocd.DefaultProject) &&
				key != NamespaceKey(app.Cluster(), argocdNamespace)
		})
}

func keyOf(w *workv1.ManifestWork) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
}
