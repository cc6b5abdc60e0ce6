package clustersecret

import (
	"net/url"
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// maxServer is the maximum length of a cluster's self-reported address, in bytes.
const maxServer = 512

const placeholderSuffix = "-control-plane"

// Placeholder returns an address for a cluster with an unknown or unusable address. No client connects to the
// placeholder, but Argo CD wants a different address for every cluster. The older controllers use the same
// placeholder.
func Placeholder(cluster string) string { return "https://" + cluster + placeholderSuffix }

// WithServer returns the cluster with the address from the hub's administrators, instead of the addresses that the
// cluster's agent may write. Without such an address, the cluster is unchanged.
func WithServer(cluster *clusterv1.ManagedCluster, server string) *clusterv1.ManagedCluster {
	if server == "" {
		return cluster
	}
	out := *cluster
	out.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: server}}
	return &out
}

// Servers returns the addresses of a ManagedCluster in the form that Argo CD compares, in the ManagedCluster's order.
// Unusable addresses are left out, because the cluster's agent may write any text.
func Servers(cluster *clusterv1.ManagedCluster) []string {
	var out []string
	for _, c := range cluster.Spec.ManagedClusterClientConfigs {
		if server, ok := normalize(c.URL); ok && !isPlaceholderOfAnother(server, cluster.Name) {
			out = append(out, server)
		}
	}
	return out
}

func normalize(raw string) (string, bool) {
	if len(raw) > maxServer {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(u.Scheme, "https") || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", false
	}
	u.Scheme, u.Host = "https", strings.ToLower(u.Host)
	if isHub(u.Hostname()) {
		return "", false
	}
	return strings.TrimRight(u.String(), "/"), true
}

// isHub reports whether Argo CD takes a host for its own cluster. A Secret with such a server would change how the
// hub's Argo CD reaches the hub.
func isHub(host string) bool {
	host = strings.TrimRight(host, ".")
	return host == "kubernetes" || host == "kubernetes.default" || strings.HasPrefix(host, "kubernetes.default.svc")
}

// isPlaceholderOfAnother reports whether an address is the placeholder of a different cluster.
func isPlaceholderOfAnother(server, cluster string) bool {
	name, ok := strings.CutSuffix(strings.TrimPrefix(server, "https://"), placeholderSuffix)
	return ok && name != cluster && !strings.ContainsAny(name, "./:")
}

func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
