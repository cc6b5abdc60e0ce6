package clustersecret

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
)

// Name is the name of a new Secret for the ManagedCluster of that name.
func Name(cluster string) string { return cluster + "-cluster-secret" }

// Cluster is the ManagedCluster that a Secret is for, when it is Towline's to write: its own, one of an older
// controller, and one that somebody made and labelled so. It is empty for every other Secret.
func Cluster(s *corev1.Secret) string {
	if s.Labels[apis.LabelSecretType] != apis.SecretTypeCluster || s.Labels[apis.LabelImported] != "true" {
		return ""
	}
	return s.Labels[apis.LabelClusterName]
}

// Owners are the GitOpsClusters that want the Secret, sorted; none for a Secret that Towline has not written yet.
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

// OwnedBy tells whether a GitOpsCluster wants the Secret.
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

// NameOf is the name that the cluster of a Secret has in Argo CD, whosever Secret it is.
func NameOf(s *corev1.Secret) string { return string(s.Data[keyName]) }

// ServerOf is the address that it has there, as Argo CD compares it.
func ServerOf(s *corev1.Secret) string { return strings.TrimRight(string(s.Data[keyServer]), "/") }
