package towline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/towline-io/towline/e2e/fleet"
)

// Towline is a running `towline controller`.
type Towline struct {
	*fleet.Process

	// Metrics and Probes are the addresses of its two servers, without a path.
	Metrics, Probes string
}

// Build compiles the program from the checkout into the fleet's folder.
func Build(ctx context.Context, f *fleet.Fleet) (string, error) {
	binary := filepath.Join(f.Dir(), "towline")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/towline")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build towline: %w\n%s", err, out)
	}
	return binary, nil
}

// Run starts the program as its Deployment would, once Install has been done. name tells several apart.
func Run(ctx context.Context, f *fleet.Fleet, binary, name string, more ...string) (*Towline, error) {
	args, err := deploymentArgs(ctx, f)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, Namespace, ServiceAccount)
	if err != nil {
		return nil, err
	}
	ports, err := f.FreePorts(2)
	if err != nil {
		return nil, err
	}
	t := &Towline{
		Metrics: fmt.Sprintf("https://127.0.0.1:%d", ports[0]),
		Probes:  fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
	}
	// A pod knows its namespace and has addresses of its own; a process is told.
	args = append(args, "--leader-election-namespace="+Namespace,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]),
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]))
	t.Process, err = f.Run(ctx, fleet.Command{
		Name: name, Path: binary, Args: append(args, more...),
		Env:   []string{"KUBECONFIG=" + kubeconfig},
		Ready: fleet.HTTPReady(t.Probes + "/readyz"),
	})
	return t, err
}

// deploymentArgs are the arguments in the Deployment that has been applied to the hub.
func deploymentArgs(ctx context.Context, f *fleet.Fleet) ([]string, error) {
	out, err := f.Hub.Kubectl(ctx, "--namespace", Namespace, "get", "deployment", "towline-controller",
		"--output", "jsonpath={.spec.template.spec.containers[0].args}")
	if err != nil {
		return nil, err
	}
	var args []string
	if err := json.Unmarshal([]byte(out), &args); err != nil {
		return nil, fmt.Errorf("the Deployment's arguments: %w", err)
	}
	return args, nil
}
