package towline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/e2e/fleet"
)

// Towline is a running `towline controller`.
type Towline struct {
	*fleet.Process

	// Metrics and Probes are the addresses of its two servers, without a path, and Profiles that of a third, where
	// Options.Profiles asked for it.
	Metrics, Probes, Profiles string
}

// Build compiles the program from the checkout into the fleet's folder.
func Build(ctx context.Context, f *fleet.Fleet) (string, error) { return build(ctx, f, "towline") }

// BuildPlugin builds the plugin of kubectl and returns where it is.
func BuildPlugin(ctx context.Context, f *fleet.Fleet) (string, error) {
	return build(ctx, f, "kubectl-towline")
}

func build(ctx context.Context, f *fleet.Fleet, name string) (string, error) {
	binary := filepath.Join(f.Dir(), name)
	if err := Compile(ctx, name, binary); err != nil {
		return "", err
	}
	return binary, nil
}

// Compile builds a program of cmd into a file, as for its image, and with those flags of go build besides.
func Compile(ctx context.Context, name, binary string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-o", binary}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/"+name)...)
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// Options say how to run the program.
type Options struct {
	// Binary is the program, and Name tells several that run apart.
	Binary, Name string

	// Args are more arguments than those of the Deployment, and Env more of the environment.
	Args, Env []string

	// Profiles has it serve Go profiles.
	Profiles bool

	// ReadyTimeout bounds the wait for it to be ready. Default: one minute.
	ReadyTimeout time.Duration
}

// Run starts the program as its Deployment would, once Install has been done. name tells several apart.
func Run(ctx context.Context, f *fleet.Fleet, binary, name string, more ...string) (*Towline, error) {
	return Start(ctx, f, Options{Binary: binary, Name: name, Args: more})
}

// Start starts the program as its Deployment would, with the environment too, once the chart has been installed or
// deploy/install.yaml been applied.
func Start(ctx context.Context, f *fleet.Fleet, o Options) (*Towline, error) {
	c, err := deployed(ctx, f)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, Namespace, ServiceAccount)
	if err != nil {
		return nil, err
	}
	ports, err := f.FreePorts(3)
	if err != nil {
		return nil, err
	}
	scheme := "https"
	if slices.Contains(o.Args, "--metrics-secure=false") {
		scheme = "http"
	}
	t := &Towline{
		Metrics: fmt.Sprintf("%s://127.0.0.1:%d", scheme, ports[0]),
		Probes:  fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
	}
	// A pod knows its namespace and has addresses of its own; a process is told.
	args := append(slices.Clone(c.Args),
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]),
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]))
	if o.Profiles {
		args = append(args, fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", ports[2]))
		t.Profiles = fmt.Sprintf("http://127.0.0.1:%d/debug/pprof", ports[2])
	}
	env := []string{"KUBECONFIG=" + kubeconfig}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	t.Process, err = f.Run(ctx, fleet.Command{
		Name: o.Name, Path: o.Binary, Args: append(args, o.Args...), Env: append(env, o.Env...), ReadyTimeout: o.ReadyTimeout,
		Ready: fleet.HTTPReady(t.Probes + "/readyz"),
	})
	return t, err
}

// deployed is the container of the Deployment that has been applied to the hub.
func deployed(ctx context.Context, f *fleet.Fleet) (*corev1.Container, error) {
	out, err := f.Hub.Kubectl(ctx, "--namespace", Namespace, "get", "deployment", "towline-controller",
		"--output", "jsonpath={.spec.template.spec.containers[0]}")
	if err != nil {
		return nil, err
	}
	c := &corev1.Container{}
	if err := json.Unmarshal([]byte(out), c); err != nil {
		return nil, fmt.Errorf("the Deployment's container: %w", err)
	}
	return c, nil
}
