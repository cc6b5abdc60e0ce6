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

// reserved are the prefixes of labels that mean something to Argo CD, or to Towline, on a Secret. A cluster that could
// set them would make its Secret a repository's, or part of some Application. So would marks with other prefixes.
var reserved = []string{"argocd.argoproj.io", apis.Group, "app.kubernetes.io"}

// Follows tells whether a label of a ManagedCluster of that key goes to its Secret.
func Follows(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return !slices.Contains(reserved, prefix) && !argocd.IsMark(key)
}

// followed are the labels that come from a cluster: its own, and of its claims those that are named and fit into a label.
// The cluster itself says what its claims are, so a label of the same key comes first.
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

// SameCluster tells whether the Secrets of two states of a ManagedCluster say the same.
func SameCluster(a, b *clusterv1.ManagedCluster, claims []string) bool {
	return maps.Equal(followed(a, claims), followed(b, claims)) && slices.Equal(Servers(a), Servers(b))
}

// follow is labels with those that come from the cluster brought up to date, and the keys of these. was are the keys of
// those that were brought before, and adopted says that this is not known: then the cluster's come first, otherwise a
// label that somebody set on the Secret does.
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

// fixed are the labels that every Secret has.
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
