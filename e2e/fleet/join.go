package fleet

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// join imports the cluster into the hub and starts its agents. A cluster for OCM's importer is left unchanged.
func (p *plane) join(ctx context.Context) error {
	if p.imported {
		return nil
	}
	if p.registers {
		return p.register(ctx)
	}
	if err := p.importCluster(ctx); err != nil {
		return err
	}
	hubConfig, err := p.agentKubeconfig(ctx)
	if err != nil {
		return err
	}
	if err := p.startRegistrationAgent(ctx, hubConfig); err != nil {
		return err
	}
	if err := p.startWorkAgent(ctx, hubConfig); err != nil {
		return err
	}
	return p.waitAvailable(ctx)
}

var managedClusterKind = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"}

// importCluster makes an accepted ManagedCluster, and waits until the registration controller has given the agent its
// rights.
func (p *plane) importCluster(ctx context.Context) error {
	labels := map[string]any{"name": p.name, "cluster.open-cluster-management.io/clusterset": "default"}
	for key, value := range p.opts.ClusterLabels[p.name] {
		labels[key] = value
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": p.name, "labels": labels},
		"spec": map[string]any{
			"hubAcceptsClient":            true,
			"leaseDurationSeconds":        int64(p.opts.LeaseSeconds),
			"managedClusterClientConfigs": []any{map[string]any{"url": p.server, "caBundle": base64.StdEncoding.EncodeToString(p.ca.certPEM)}},
		},
	}}
	cluster.SetGroupVersionKind(managedClusterKind)
	hub := p.hub.client
	if err := applyObjects(ctx, hub, "", cluster); err != nil {
		return err
	}
	ctx, cancel := p.limit(ctx, "the registration controller granted no rights to "+p.name)
	defer cancel()
	binding := client.ObjectKey{Namespace: p.name, Name: "open-cluster-management:managedcluster:" + p.name + ":work"}
	return poll(ctx, 100*time.Millisecond, exists(hub, schema.GroupVersionKind{
		Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding",
	}, binding))
}

func (p *plane) waitAvailable(ctx context.Context) error {
	ctx, cancel := p.limit(ctx, fmt.Sprintf("%s is not Available on the hub (see %s and %s)", p.name,
		p.paths.log(p.name+"-registration-agent"), p.paths.log("hub-registration-controller")))
	defer cancel()
	for _, condition := range []string{"ManagedClusterJoined", "ManagedClusterConditionAvailable"} {
		if err := poll(ctx, 100*time.Millisecond, conditionTrue(p.hub.client, managedClusterKind,
			client.ObjectKey{Name: p.name}, condition)); err != nil {
			return err
		}
	}
	return nil
}

// importAgain joins a cluster after the deletion of its ManagedCluster.
func (p *plane) importAgain(ctx context.Context) error {
	if err := p.importCluster(ctx); err != nil {
		return err
	}
	return p.waitAvailable(ctx)
}

// availability returns the status of a ManagedCluster's condition ManagedClusterConditionAvailable.
func availability(ctx context.Context, hub client.Client, name string) string {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(managedClusterKind)
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return ""
	}
	status, _ := readCondition(cluster, "ManagedClusterConditionAvailable")
	return status
}

// limit sets the fleet's ReadyTimeout for a wait. The error of the timeout has the given description.
func (s *supervisor) limit(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	timeout := s.opts.ReadyTimeout
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%s within %s", what, timeout))
}
