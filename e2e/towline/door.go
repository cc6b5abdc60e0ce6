package towline

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
	"github.com/towline-io/towline/pkg/apis"
)

// OpenDoor runs the agent of a cluster with an address for the cluster's Argo CD, and waits until this Argo CD trusts the
// address. OpenDoor needs the add-on agent-source of InstallAddOn. argo is the control plane with the Argo CD: a
// managed cluster, or a regional hub.
func OpenDoor(ctx context.Context, f *fleet.Fleet, binary, cluster string, argo *fleet.ControlPlane) (agent *Agent, address string, err error) {
	ports, err := f.FreePorts(1)
	if err != nil {
		return nil, "", err
	}
	address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	_, err = f.Hub.Kubectl(ctx, "annotate", "--overwrite", "namespace", cluster, apis.AnnotationSourceAddress+"=https://"+address)
	if err != nil {
		return nil, "", err
	}
	agent, err = RunAgent(ctx, f, binary, cluster, "door-"+cluster, "--source-bind-address="+address, "--source-address=https://"+address)
	if err != nil {
		return nil, "", err
	}
	var trusted map[string]string
	err = eventually(ctx, func(ctx context.Context) (err error) {
		trusted, err = trustedBy(ctx, argo, "https://"+address+"/")
		return err
	})
	if err != nil {
		return agent, address, err
	}
	return agent, address, argo.MountCertificates(trusted) // as the kubelet does
}

// trustedBy returns the authorities that Argo CD trusts, by host. The error names the object that the agent at the
// address has not written yet: an earlier agent leaves an authority and an address.
func trustedBy(ctx context.Context, argo *fleet.ControlPlane, address string) (map[string]string, error) {
	keys, credentials, trusted := &corev1.Secret{}, &corev1.Secret{}, &corev1.ConfigMap{}
	for _, object := range []struct {
		into                  any
		kind, name, namespace string
	}{
		{keys, "secret", sourceproxy.KeysSecret, AddOnNamespace},
		{credentials, "secret", sourceproxy.CredentialsSecret, fleet.ArgoCDNamespace},
		{trusted, "configmap", sourceproxy.CertificatesConfigMap, fleet.ArgoCDNamespace},
	} {
		out, err := argo.Kubectl(ctx, "get", object.kind, object.name, "--namespace="+object.namespace, "--output=json")
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(out), object.into); err != nil {
			return nil, err
		}
	}
	switch {
	case len(keys.Data["ca.crt"]) == 0, trusted.Data["127.0.0.1"] != string(keys.Data["ca.crt"]):
		return nil, fmt.Errorf("%s does not trust the agent yet", argo.Name())
	case string(credentials.Data["url"]) != address:
		return nil, fmt.Errorf("%s has no credentials for %s yet", argo.Name(), address)
	}
	return trusted.Data, nil
}
