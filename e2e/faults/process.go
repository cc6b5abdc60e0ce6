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

// workers is how many Applications Towline works on at a time: a write that waits in the proxy keeps one of them.
const workers = "400"

// alone are the arguments of a process that runs without another. A kill is followed by a start: a Lease would make each of them wait
// for its end.
var alone = []string{
	"--leader-elect=false", "--propagation-concurrency=" + workers, "--status-concurrency=" + workers,
	"--dependencies-concurrency=" + workers, "--aggregation-concurrency=" + workers, "--propagate-objects",
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

// prepare puts Towline's own objects on the fleet, and a second namespace for Applications on its clusters.
func prepare(ctx context.Context, f *fleet.Fleet) error {
	if err := towline.Install(ctx, f); err != nil {
		return err
	}
	// It would import the clusters of all points.
	if _, err := f.Hub.Kubectl(ctx, "delete", "gitopsclusters", "--all", "--namespace", fleet.ArgoCDNamespace); err != nil {
		return err
	}
	if err := towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/components/propagate-objects/role.yaml"); err != nil {
		return err
	}
	file := filepath.Join(f.Dir(), "elsewhere.yaml")
	if err := os.WriteFile(file, []byte(otherNamespace), 0o600); err != nil {
		return err
	}
	for _, c := range f.Clusters() {
		if _, err := c.Kubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
			return err
		}
	}
	return nil
}

// otherNamespace is what example/managed says, for another namespace.
const otherNamespace = `
{apiVersion: v1, kind: Namespace, metadata: {name: ` + elsewhere + `}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "towline:work-agent:applications", namespace: ` + elsewhere + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "towline:work-agent:applications"}
subjects: [{kind: ServiceAccount, name: klusterlet-work-sa, namespace: open-cluster-management-agent}]
`
