package clustersecret

import (
	"net/url"
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// maxServer bounds the address that a cluster gives itself.
const maxServer = 512

const placeholderSuffix = "-control-plane"

// Placeholder stands for the address of a cluster whose real one is not known or not to be used: nothing connects to
// it, but Argo CD wants a different one from every cluster. It is the one that the older controllers use.
func Placeholder(cluster string) string { return "https://" + cluster + placeholderSuffix }

// At is a cluster with the address that the hub's administrators gave it, in place of those that its agent may write; as it
// is for none.
func At(cluster *clusterv1.ManagedCluster, server string) *clusterv1.ManagedCluster {
	if server == "" {
		return cluster
	}
	out := *cluster
	out.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: server}}
	return &out
}

// Servers are the addresses that a ManagedCluster has for a hub, as Argo CD compares them, in its own order. What is
// no address for another cluster to connect to is left out: the cluster's agent may write anything there.
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

// isHub tells whether a host is what an Argo CD takes for the cluster that it runs on. A Secret with such a server would
// change how the hub's Argo CD reaches the hub.
func isHub(host string) bool {
	host = strings.TrimRight(host, ".")
	return host == "kubernetes" || host == "kubernetes.default" || strings.HasPrefix(host, "kubernetes.default.svc")
}

// isPlaceholderOfAnother keeps a cluster from taking the address that another falls back to.
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
