package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// workers is the number of Applications that Towline processes in parallel. A write that waits in the proxy occupies a
// worker.
const workers = "400"

// alone are the arguments of a single process. Each kill is followed by a start, and with a Lease each start would have
// to wait for the end of the Lease.
var alone = []string{
	"--leader-elect=false", "--concurrency=" + workers, "--propagate=app-projects,namespaces,objects",
}

// start starts Towline with its ServiceAccount's rights, behind the proxy.
func start(ctx context.Context, f *fleet.Fleet, p *Proxy, o towline.Options) (*towline.Towline, error) {
	direct, err := f.Hub.ServiceAccountKubeconfig(ctx, towline.Namespace, towline.ServiceAccount)
	if err != nil {
		return nil, err
	}
	o.Name = fmt.Sprintf("towline-faults-%d", time.Now().UnixNano())
	kubeconfig := filepath.Join(filepath.Dir(o.Binary), o.Name+".yaml")
	if err := p.Kubeconfig(direct, kubeconfig); err != nil {
		return nil, err
	}
	o.Env = append([]string{"KUBECONFIG=" + kubeconfig}, o.Env...)
	return towline.Start(ctx, f, o)
}

// prepare installs Towline's objects on the fleet, and a second namespace for Applications on its clusters.
func prepare(ctx context.Context, f *fleet.Fleet) error {
	if err := towline.Install(ctx, f); err != nil {
		return err
	}
	// The GitOpsCluster of the fleet would import the clusters of all points.
	if _, err := f.Hub.Kubectl(ctx, "delete", "gitopsclusters", "--all", "--namespace", fleet.ArgoCDNamespace); err != nil {
		return err
	}
	if err := towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/components/propagate-objects/role.yaml"); err != nil {
		return err
	}
	if err := towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/addon/hub_role.yaml"); err != nil {
		return err
	}
	if err := apply(ctx, &f.Hub.ControlPlane, agentAccount); err != nil {
		return err
	}
	for _, c := range f.Clusters() {
		if err := apply(ctx, &c.ControlPlane, otherNamespaces); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, to *fleet.ControlPlane, manifest string) error {
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return err
	}
	_, err = to.Kubectl(ctx, "apply", "--server-side", "-f", file)
	return err
}

// agentAccount has the add-on's rights on the hub. The proxy forwards only tokens, and the add-on has a certificate.
const agentAccount = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: ` + towline.AddOn + `, namespace: ` + first + `}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ` + towline.AddOn + `-faults, namespace: ` + first + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + towline.AddOn + `}
subjects: [{kind: ServiceAccount, name: ` + towline.AddOn + `, namespace: ` + first + `}]
`

// otherNamespaces is the content of example/managed, for all namespaces.
const otherNamespaces = `
{apiVersion: v1, kind: Namespace, metadata: {name: ` + elsewhere + `}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "towline:work-agent:applications"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "towline:work-agent:applications"}
subjects: [{kind: ServiceAccount, name: klusterlet-work-sa, namespace: open-cluster-management-agent}]
`
