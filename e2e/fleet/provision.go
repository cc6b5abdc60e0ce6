package fleet

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hubRegistrationAccount is the ServiceAccount of OCM's registration controller.
const hubRegistrationAccount = "registration-controller-sa"

// clusterAPI is the part of Cluster API that OCM's importer (1.0 and 1.2) reads: objects of this group and version. No Cluster API
// controller runs on a fleet, so the fields of a Cluster have no schema here.
const clusterAPI = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {kind: Cluster, listKind: ClusterList, plural: clusters, singular: cluster}
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// importing returns the arguments for a registration controller that installs the agents on clusters of Cluster API. A
// ClusterManager with the feature gate ClusterImporter and the renderer render-auto sets the same arguments. OCM 1.0 has
// a single renderer, and no argument to choose.
func importing(end End) []string {
	args := []string{
		"--feature-gates=ManagedClusterAutoApproval=true,ClusterImporter=true", autoApproved,
		"--agent-image=registration-operator.invalid/unused",
		"--bootstrap-serviceaccount=" + bootstrapNamespace + "/" + bootstrapAccount,
	}
	if end != Oldest {
		args = append(args, "--import-renderers=render-auto")
	}
	return args
}

// registrationAccount is the ServiceAccount of the registration controller. OCM's operator makes the account from a
// template with an annotation only for the operator.
const registrationAccount = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: registration-controller-sa, namespace: open-cluster-management-hub}}
`

var klusterletKind = schema.GroupVersionKind{Group: "operator.open-cluster-management.io", Version: "v1", Kind: "Klusterlet"}

// provisionCluster starts a cluster without joining it to the hub, as Cluster API does. OCM's importer runs on the hub
// from then on.
func (s *supervisor) provisionCluster(ctx context.Context, name string) error {
	if err := s.hub.startImporter(ctx); err != nil {
		return err
	}
	p, err := s.newCluster(name, func(p *plane) { p.imported = true })
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	close(ready)
	return p.startCluster(ctx, ready)
}

// startImporter runs the registration controller with the importer. The importer has only the rights of its own
// ServiceAccount, and reads only permitted kubeconfig Secrets.
func (p *plane) startImporter(ctx context.Context) error {
	if err := p.apply(ctx, "", clusterAPI+"---"+bootstrapObjects+"---"+registrationAccount); err != nil {
		return err
	}
	if err := poll(ctx, 50*time.Millisecond, established(p.client, "clusters.cluster.x-k8s.io")); err != nil {
		return err
	}
	if err := p.publishClusterInfo(ctx); err != nil {
		return err
	}
	values := map[string]any{
		"ClusterManagerName": "cluster-manager", "ClusterManagerNamespace": hubNamespace, "Labels": map[string]string{},
		"ClusterImporterEnabled": true, "ClusterProfileEnabled": false, "GRPCAuthEnabled": false,
	}
	if err := p.applyOCM(ctx, hubNamespace, "registration-rights", values); err != nil {
		return err
	}
	kubeconfig, err := p.serviceAccountKubeconfig(ctx, hubNamespace, hubRegistrationAccount)
	if err != nil {
		return err
	}
	// The last of two equal flags has effect.
	return p.restartRegistration(ctx, append(importing(p.opts.End), "--kubeconfig="+kubeconfig)...)
}

// publishClusterInfo writes the ConfigMap in which kubeadm publishes the address of a cluster. The importer reads the
// hub's address for the agents from this ConfigMap.
func (p *plane) publishClusterInfo(ctx context.Context) error {
	kubeconfig, err := clientcmd.Write(*renderKubeconfig(hubName, p.server, p.ca.certPEM, &api.AuthInfo{}))
	if err != nil {
		return err
	}
	info := &corev1.ConfigMap{Data: map[string]string{"kubeconfig": string(kubeconfig)}}
	info.Namespace, info.Name = "kube-public", "cluster-info"
	return client.IgnoreAlreadyExists(p.client.Create(ctx, info))
}

// operateKlusterlet does the work of OCM's Klusterlet operator, because the operator needs containers. It waits for the
// importer's objects, and starts the agents for these objects.
func (s *supervisor) operateKlusterlet(ctx context.Context, name string) error {
	p, err := s.joined(name, func(p *plane) bool { return p.imported })
	if err != nil {
		return err
	}
	bootstrap, err := p.bootstrapKubeconfig(ctx)
	if err != nil {
		return err
	}
	if err := p.applyKlusterlet(ctx); err != nil {
		return err
	}
	return p.registerBy(ctx, bootstrap)
}

// bootstrapKubeconfig waits for the Klusterlet and for the Secret with the bootstrap kubeconfig. It writes the
// kubeconfig to a file, and returns its path.
func (p *plane) bootstrapKubeconfig(ctx context.Context) (string, error) {
	ctx, cancel := p.limit(ctx, fmt.Sprintf("the importer brought no Klusterlet to %s (see the conditions of its ManagedCluster, and %s)",
		p.name, p.paths.log("hub-registration-controller")))
	defer cancel()
	if err := poll(ctx, 100*time.Millisecond, exists(p.client, klusterletKind, client.ObjectKey{Name: "klusterlet"})); err != nil {
		return "", err
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: agentNamespace, Name: "bootstrap-hub-kubeconfig"}
	if err := poll(ctx, 100*time.Millisecond, func(ctx context.Context) error { return p.client.Get(ctx, key, secret) }); err != nil {
		return "", err
	}
	path := p.paths.kubeconfig(p.name + "-bootstrap")
	return path, os.WriteFile(path, secret.Data["kubeconfig"], 0o600)
}

// Provision starts a new cluster with an Argo CD and without OCM's agents, as a provider of Cluster API does. It
// returns when the cluster's API server is ready. OCM's importer runs on the hub until Leave.
func (f *Fleet) Provision(ctx context.Context, name string) (*Cluster, error) {
	if err := f.control.act(ctx, actProvision, name, ""); err != nil {
		return nil, err
	}
	return f.joined(name)
}

// OperateKlusterlet does the work of OCM's Klusterlet operator on a cluster of Provision. It waits until OCM's importer
// has made a Klusterlet, starts the agents with the importer's kubeconfig, and returns when the cluster is Available.
func (f *Fleet) OperateKlusterlet(ctx context.Context, name string) error {
	return f.control.act(ctx, actOperate, name, "")
}
