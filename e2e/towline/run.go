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
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/towline-io/towline/e2e/fleet"
)

// Towline is a running `towline controller`.
type Towline struct {
	*fleet.Process

	// Metrics and Probes are the addresses of the process's two servers, without a path. Profiles is the address of a
	// third server, with Options.Profiles.
	Metrics, Probes, Profiles string
}

// Build compiles the program from the checkout into the fleet's folder, and returns the path.
func Build(ctx context.Context, f *fleet.Fleet) (string, error) { return build(ctx, f, "towline") }

// BuildPlugin compiles the plugin of kubectl into the fleet's folder, and returns the path.
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

// Compile builds a program of cmd into a file as for its image, with additional flags of go build. Without -trimpath, the
// program shares the compiled packages with the demo.
func Compile(ctx context.Context, name, binary string, flags ...string) error {
	args := append([]string{"build", "-o", binary}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/"+name)...)
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// Options configure a run of the program.
type Options struct {
	// Binary is the path of the program. Name distinguishes several processes.
	Binary, Name string

	// Args are arguments in addition to the arguments of the Deployment, and Env is an addition to the environment.
	Args, Env []string

	// Profiles enables the server of Go profiles.
	Profiles bool

	// ReadyTimeout limits the wait for readiness. Default: one minute.
	ReadyTimeout time.Duration
}

// Run starts the program as its Deployment would, after Install. name distinguishes several processes.
func Run(ctx context.Context, f *fleet.Fleet, binary, name string, more ...string) (*Towline, error) {
	return Start(ctx, f, Options{Binary: binary, Name: name, Args: more})
}

// Start starts the program as its Deployment would, including the environment. The chart or deploy/install.yaml must be
// installed before.
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
	// A pod knows its namespace and has its own addresses. A process gets both as arguments.
	args := append(slices.Clone(c.Args),
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]),
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]))
	if o.Profiles {
		args = append(args, fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", ports[2]))
		t.Profiles = fmt.Sprintf("http://127.0.0.1:%d/debug/pprof", ports[2])
	}
	env := []string{"KUBECONFIG=" + kubeconfig}
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil { // the UID of the pod: Restart restarts the container of this pod
			value = string(uuid.NewUUID())
		}
		env = append(env, e.Name+"="+value)
	}
	t.Process, err = f.Run(ctx, fleet.Command{
		Name: o.Name, Path: o.Binary, Args: append(args, o.Args...), Env: append(env, o.Env...), ReadyTimeout: o.ReadyTimeout,
		Ready: fleet.HTTPReady(t.Probes + "/readyz"),
	})
	return t, err
}

// deployed returns the container of the Deployment on the hub.
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
