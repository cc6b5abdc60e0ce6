package towline

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/towline-io/towline/e2e/fleet"
)

// maestroName is the name of the program that serves works from Maestro, of its ServiceAccount, and of its Service.
const maestroName = "towline-maestro"

// worksAPI is the APIService that selects the server of ManifestWorks.
const worksAPI = "v1.work.open-cluster-management.io"

// Maestro is a process of towline-maestro.
type Maestro struct {
	*fleet.Process

	// Env is an addition to the environment. ReadyTimeout limits the wait for readiness. Default: one minute.
	Env          []string
	ReadyTimeout time.Duration

	fleet *fleet.Fleet
	files servingFiles
	port  int
}

// servingFiles are the files of towline-maestro's serving certificate and its key. The certificate is its own
// authority.
type servingFiles struct{ cert, key string }

// InstallMaestro moves the works of the hub to Maestro, as in docs/maestro.md: it runs towline-maestro with the rights
// of deploy/maestro, and makes the hub's API server send requests for works to towline-maestro. The garbage collector
// watches works already, so InstallMaestro restarts it. more are additional arguments.
func InstallMaestro(ctx context.Context, f *fleet.Fleet, more ...string) (*Maestro, error) {
	m, err := PrepareMaestro(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := m.Run(ctx, more...); err != nil {
		return nil, err
	}
	if err := m.Serve(ctx); err != nil {
		return nil, err
	}
	const collector = "kube-controller-manager"
	return m, errors.Join(f.Hub.StopProcess(ctx, collector), f.Hub.StartProcess(ctx, collector))
}

// PrepareMaestro builds towline-maestro, and applies the rights of deploy/maestro.
func PrepareMaestro(ctx context.Context, f *fleet.Fleet) (*Maestro, error) {
	for _, file := range []string{"service_account", "role", "role_binding", "authentication", "lease", "ids"} {
		if err := Apply(ctx, f, &f.Hub.ControlPlane, "deploy/maestro/"+file+".yaml"); err != nil {
			return nil, err
		}
	}
	if err := buildMaestro(ctx, f); err != nil {
		return nil, err
	}
	files, err := writeServingFiles(f)
	if err != nil {
		return nil, err
	}
	return &Maestro{fleet: f, files: files}, nil
}

// Run starts the process. Before Serve, no client sends requests for works. more are arguments in addition to the
// arguments of the Deployment.
func (m *Maestro) Run(ctx context.Context, more ...string) error {
	return m.run(ctx, maestroName, true, more)
}

// StandBy runs a second process, which waits for the end of the leader. more are arguments that override the arguments
// of the first process.
func (m *Maestro) StandBy(ctx context.Context, name string, more ...string) (*Maestro, error) {
	other := &Maestro{fleet: m.fleet, files: m.files}
	return other, other.run(ctx, name, false, more)
}

// RESTConfig is the configuration of the hub's admin for a direct connection to the process, without the hub's API
// server: for metrics and profiles.
func (m *Maestro) RESTConfig() *rest.Config {
	config := m.fleet.Hub.RESTConfig()
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", m.port)
	config.CAFile, config.CAData = m.files.cert, nil
	return config
}

// Ready returns an error while the process may not serve.
func (m *Maestro) Ready(ctx context.Context) error {
	return fleet.HTTPReady(fmt.Sprintf("https://127.0.0.1:%d/readyz", m.port))(ctx)
}

// Says returns the answer of the process to the hub's admin at a path, for any status code.
func (m *Maestro) Says(ctx context.Context, path string) (string, error) {
	client, err := kubernetes.NewForConfig(m.RESTConfig())
	if err != nil {
		return "", err
	}
	said, err := client.RESTClient().Get().AbsPath(path).DoRaw(ctx)
	if len(said) > 0 {
		return string(said), nil
	}
	return "", err
}

// Serve makes the hub's API server send requests for works to the process. In a cluster, a Service does so for a ready
// pod. The process runs on this machine instead.
func (m *Maestro) Serve(ctx context.Context) error {
	ca, err := os.ReadFile(m.files.cert)
	if err != nil {
		return err
	}
	service, err := Manifest(m.fleet, "deploy/maestro/apiservice.yaml")
	if err != nil {
		return err
	}
	service = strings.Replace(service, "    port: 443", fmt.Sprintf("    port: %d\n  caBundle: %s", m.port, base64.StdEncoding.EncodeToString(ca)), 1)
	file, err := writeTemp(fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, "+
		"spec: {type: ExternalName, externalName: localhost}}\n---\n", maestroName, Namespace) + service)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	if _, err := m.fleet.Hub.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", file); err != nil {
		return err
	}
	_, err = m.fleet.Hub.Kubectl(ctx, "wait", "--for=condition=Available", "apiservice/"+worksAPI, "--timeout=60s")
	return err
}

func buildMaestro(ctx context.Context, f *fleet.Fleet) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", maestroBinary(f), ".")
	build.Dir = filepath.Join(Root(), "cmd", maestroName)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", maestroName, err, out)
	}
	return nil
}

func maestroBinary(f *fleet.Fleet) string { return filepath.Join(f.Dir(), maestroName) }

func writeServingFiles(f *fleet.Fleet) (servingFiles, error) {
	files := servingFiles{filepath.Join(f.Dir(), maestroName+".crt"), filepath.Join(f.Dir(), maestroName+".key")}
	cert, key, err := certutil.GenerateSelfSignedCertKey(maestroName+"."+Namespace+".svc", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return files, err
	}
	return files, errors.Join(os.WriteFile(files.cert, cert, 0o600), os.WriteFile(files.key, key, 0o600))
}

// run starts the process. If the process is to lead, run waits until the process is ready.
func (m *Maestro) run(ctx context.Context, name string, lead bool, more []string) error {
	hub := m.fleet.Hub
	kubeconfig, err := hub.ServiceAccountKubeconfig(ctx, Namespace, maestroName)
	if err != nil {
		return err
	}
	ports, err := m.fleet.FreePorts(1)
	if err != nil {
		return err
	}
	m.port = ports[0]
	command := fleet.Command{
		Name: name, Path: maestroBinary(m.fleet), Env: m.Env, ReadyTimeout: m.ReadyTimeout, Args: append([]string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", m.port), "--tls-cert-file=" + m.files.cert, "--tls-private-key-file=" + m.files.key,
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		}, append(ofMaestro(m.fleet), more...)...),
	}
	if lead {
		command.Ready = m.Ready
	}
	m.Process, err = m.fleet.Run(ctx, command)
	return err
}
