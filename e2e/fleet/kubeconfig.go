package fleet

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// renderKubeconfig returns a kubeconfig for a user of an API server.
func renderKubeconfig(name, server string, ca []byte, user *api.AuthInfo) *api.Config {
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = user
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config
}

func certificateUser(pair keyPair) *api.AuthInfo {
	return &api.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
}

func tokenUser(token string) *api.AuthInfo { return &api.AuthInfo{Token: token} }

func writeKubeconfig(path string, config *api.Config) error {
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", filepath.Base(path), err)
	}
	return nil
}

// loadRESTConfig reads a kubeconfig for a client without client-side rate limits.
func loadRESTConfig(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	config.QPS, config.Burst = -1, -1
	return config, nil
}
