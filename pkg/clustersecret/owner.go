package clustersecret

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
)

// Name returns the name of a new Secret for the ManagedCluster.
func Name(cluster string) string { return cluster + "-cluster-secret" }

// Cluster returns the ManagedCluster of a Secret that Towline may write: Towline's own Secret, the Secret of an older
// controller, or a labelled Secret of a user. It is empty for every other Secret.
func Cluster(s *corev1.Secret) string {
	if s.Labels[apis.LabelSecretType] != apis.SecretTypeCluster || s.Labels[apis.LabelImported] != "true" {
		return ""
	}
	return s.Labels[apis.LabelClusterName]
}

// Owners returns the sorted GitOpsClusters that want the Secret; none for a Secret not yet written by Towline.
func Owners(s *corev1.Secret) []types.NamespacedName {
	var out []types.NamespacedName
	for owner := range strings.SplitSeq(s.Annotations[apis.AnnotationGitOpsClusters], ",") {
		namespace, name, ok := strings.Cut(owner, "/")
		if ok && namespace != "" && name != "" {
			out = append(out, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return sorted(out)
}

// OwnedBy reports whether a GitOpsCluster wants the Secret.
func OwnedBy(s *corev1.Secret, owner types.NamespacedName) bool {
	return slices.Contains(Owners(s), owner)
}

func sorted(owners []types.NamespacedName) []types.NamespacedName {
	out := slices.Clone(owners)
	slices.SortFunc(out, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

func ownersText(owners []types.NamespacedName) string {
	text := make([]string, 0, len(owners))
	for _, owner := range sorted(owners) {
		text = append(text, owner.String())
	}
	return strings.Join(text, ",")
}

// NameOf returns the cluster's name in Argo CD, for any cluster Secret.
func NameOf(s *corev1.Secret) string { return string(s.Data[keyName]) }

// ServerOf returns the cluster's address in Argo CD, in the form that Argo CD compares.
func ServerOf(s *corev1.Secret) string { return strings.TrimRight(string(s.Data[keyServer]), "/") }
