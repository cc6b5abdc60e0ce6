package fleet

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// agentKubeconfig gives the agents their identity on the hub: as a kubeconfig, and as the Secret and the folder of the
// registration agent. It returns the path of the kubeconfig.
func (p *plane) agentKubeconfig(ctx context.Context) (string, error) {
	pair, err := p.hub.ca.issue(identity{
		user:   "system:open-cluster-management:" + p.name + ":" + agentID,
		groups: []string{"system:open-cluster-management:" + p.name, "system:open-cluster-management:managed-clusters"},
	})
	if err != nil {
		return "", err
	}
	path := p.paths.kubeconfig(p.name + "-agent")
	config := renderKubeconfig(hubName, p.hub.server, p.hub.ca.certPEM, certificateUser(pair))
	if err := writeKubeconfig(path, config); err != nil {
		return "", err
	}
	return path, p.storeHubKubeconfig(ctx, pair)
}

func (p *plane) storeHubKubeconfig(ctx context.Context, pair keyPair) error {
	dir, err := p.dir("hub-kubeconfig")
	if err != nil {
		return err
	}
	config := renderKubeconfig(hubName, p.hub.server, p.hub.ca.certPEM,
		&api.AuthInfo{ClientCertificate: "tls.crt", ClientKey: "tls.key"})
	if err := writeKubeconfig(filepath.Join(dir, "kubeconfig"), config); err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return err
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "hub-kubeconfig-secret"},
		"stringData": map[string]any{
			"kubeconfig": string(kubeconfig), "tls.crt": string(pair.cert), "tls.key": string(pair.key),
			"cluster-name": p.name, "agent-name": agentID,
		},
	}}
	return applyObjects(ctx, p.client, agentNamespace, secret)
}
