package towline

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// Unserve makes the hub's API server serve the works in its etcd again.
func (m *Maestro) Unserve(ctx context.Context) error {
	_, err := m.fleet.Hub.Kubectl(ctx, "delete", "apiservice", worksAPI)
	return err
}

// Migrate runs `towline-maestro migrate` with the rights of deploy/maestro/migrate, and returns the output.
func (m *Maestro) Migrate(ctx context.Context, args ...string) (string, error) {
	for _, file := range []string{"service_account", "role", "role_binding", "lease"} {
		if err := Apply(ctx, m.fleet, &m.fleet.Hub.ControlPlane, "deploy/maestro/migrate/base/"+file+".yaml"); err != nil {
			return "", err
		}
	}
	kubeconfig, err := m.fleet.Hub.ServiceAccountKubeconfig(ctx, Namespace, maestroName+"-migrate")
	if err != nil {
		return "", err
	}
	return m.command(ctx, slices.Concat([]string{"migrate"}, args, ofMaestro(m.fleet), []string{"--kubeconfig=" + kubeconfig})...)
}

// Settle runs `towline-maestro migrate settle` for a cluster and the present source of its agent, and returns the
// output.
func (m *Maestro) Settle(ctx context.Context, c *fleet.Cluster, source string) (string, error) {
	return m.command(ctx, "migrate", "settle", "--agent-source="+source, "--kubeconfig="+c.Kubeconfig())
}

func (m *Maestro) command(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, maestroBinary(m.fleet), args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", maestroName, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// ofMaestro returns the arguments with the addresses of Maestro.
func ofMaestro(f *fleet.Fleet) []string {
	return []string{
		"--maestro-url=" + strings.TrimSuffix(f.Hub.MaestroURL(), "/api/maestro/v1"), "--maestro-grpc=" + f.Hub.MaestroGRPC(), "--maestro-plaintext",
	}
}
