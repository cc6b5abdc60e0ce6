package clustersecret

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// reserved are the prefixes of Secret labels with a meaning for Argo CD or Towline. With such labels, a cluster could
// turn its Secret into a repository Secret, or into a part of an Application. Follows also rejects marks with other
// prefixes.
var reserved = []string{"argocd.argoproj.io", apis.Group, "app.kubernetes.io"}

// Follows reports whether the ManagedCluster's label with the key goes to the Secret.
func Follows(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return !slices.Contains(reserved, prefix) && !argocd.IsMark(key)
}

// followed returns the labels from a cluster: the cluster's own labels, and the named claims with valid label values.
// A label wins over a claim with the same key, because the cluster itself writes the claims.
func followed(cluster *clusterv1.ManagedCluster, claims []string) map[string]string {
	out := map[string]string{}
	for _, claim := range cluster.Status.ClusterClaims {
		if slices.Contains(claims, claim.Name) && len(validation.IsValidLabelValue(claim.Value)) == 0 {
			out[claim.Name] = claim.Value
		}
	}
	for key, value := range cluster.Labels {
		if Follows(key) {
			out[key] = value
		}
	}
	return out
}

// SameCluster reports whether two states of a ManagedCluster give the same Secret.
func SameCluster(a, b *clusterv1.ManagedCluster, claims []string) bool {
	return maps.Equal(followed(a, claims), followed(b, claims)) && slices.Equal(Servers(a), Servers(b))
}

// follow returns the labels, updated with the labels from the cluster, and the keys of the cluster's labels. was are
// the keys from the last update. A label set by a user on the Secret wins over the cluster's label. If adopted is
// set, the old keys are unknown, and the cluster's labels win.
func follow(labels map[string]string, was []string, adopted bool, from map[string]string) (map[string]string, []string) {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	for _, key := range was {
		if Follows(key) {
			delete(out, key)
		}
	}
	var keys []string
	for key, value := range from {
		if _, set := out[key]; set && !adopted {
			continue
		}
		out[key] = value
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return out, keys
}

// fixed returns the labels of every Secret.
func fixed(cluster, server string) map[string]string {
	out := map[string]string{
		apis.LabelSecretType:  apis.SecretTypeCluster,
		apis.LabelImported:    "true",
		apis.LabelClusterName: cluster,
	}
	if host := hostOf(server); len(validation.IsValidLabelValue(host)) == 0 {
		out[apis.LabelClusterServer] = host
	}
	return out
}
