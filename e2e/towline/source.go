package towline

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	certutil "k8s.io/client-go/util/cert"

	"github.com/towline-io/towline/e2e/fleet"
)

// sourceName is the name of the program that serves repositories to clusters without Git, of its ServiceAccount, and of
// its Service.
const sourceName = "towline-source"

// sourceAPI is the APIService of towline-source.
const sourceAPI = "apiservice/v1alpha1.source.apps.open-cluster-management.io"

// RunSource builds towline-source, runs it with the rights of deploy/source, and makes the hub's API server send the
// requests for repositories to the process. more are additional arguments.
func RunSource(ctx context.Context, f *fleet.Fleet, more ...string) (*fleet.Process, error) {
	return runSource(ctx, f, sourceName, more...)
}

// RunSecondSource is RunSource for a second process, with mirrors of its own. The first process stays, and gets no new
// connections.
func RunSecondSource(ctx context.Context, f *fleet.Fleet) (*fleet.Process, error) {
	return runSource(ctx, f, sourceName+"-2")
}

// runSource runs a process of the name.
func runSource(ctx context.Context, f *fleet.Fleet, name string, more ...string) (*fleet.Process, error) {
	for _, file := range []string{"service_account", "role", "role_binding", "authentication_reader"} {
		if err := Apply(ctx, f, &f.Hub.ControlPlane, "deploy/source/"+file+".yaml"); err != nil {
			return nil, err
		}
	}
	cert, key, err := sourceCertificate()
	if err != nil {
		return nil, err
	}
	process, port, err := startSource(ctx, f, name, cert, key, append([]string{"--argocd-namespace=" + Namespace}, more...)...)
	if err != nil {
		return nil, err
	}
	return process, serveSource(ctx, f, port, cert)
}

// InstallSource installs the chart with towline-source and further values in the form of --set, and runs the process with the
// arguments of the chart's Deployment. The hub's API server sends requests for repositories to the process. address is the
// address of the process.
func InstallSource(ctx context.Context, f *fleet.Fleet, values ...string) (process *fleet.Process, address string, err error) {
	cert, key, err := sourceCertificate()
	if err != nil {
		return nil, "", err
	}
	if err := InstallChart(ctx, f, append([]string{
		"source.enabled=true", "source.image.repository=" + sourceName, "source.certificate.caBundle=" + base64.StdEncoding.EncodeToString(cert),
	}, values...)...); err != nil {
		return nil, "", err
	}
	const containerArgs = "--output=jsonpath={.spec.template.spec.containers[0].args}"
	out, err := f.Hub.Kubectl(ctx, "get", "deployment", sourceName, "--namespace="+Namespace, containerArgs)
	if err != nil {
		return nil, "", err
	}
	var args []string
	if err := json.Unmarshal([]byte(out), &args); err != nil {
		return nil, "", err
	}
	args = slices.DeleteFunc(args, func(arg string) bool { // of the pod alone
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{"--secure-port", "--tls-cert-file", "--tls-private-key-file", "--data"}, flag)
	})
	process, port, err := startSource(ctx, f, sourceName, cert, key, args...)
	if err != nil {
		return nil, "", err
	}
	const toHere = `{"spec": {"type": "ExternalName", "externalName": "localhost"}}`
	if _, err := f.Hub.Kubectl(ctx, "patch", "service", sourceName, "--namespace="+Namespace, "--type=merge", "--patch="+toHere); err != nil {
		return process, "", err
	}
	toPort := fmt.Sprintf(`{"spec": {"service": {"port": %d}}}`, port)
	if _, err := f.Hub.Kubectl(ctx, "patch", sourceAPI, "--type=merge", "--patch="+toPort); err != nil {
		return process, "", err
	}
	return process, fmt.Sprintf("https://127.0.0.1:%d", port), sourceAvailable(ctx, f)
}

// sourceAvailable waits until the hub's API server reaches towline-source.
func sourceAvailable(ctx context.Context, f *fleet.Fleet) error {
	_, err := f.Hub.Kubectl(ctx, "wait", "--for=condition=Available", sourceAPI, "--timeout=60s")
	return err
}

// sourceCertificate returns a certificate for the Service of towline-source, and its key.
func sourceCertificate() (cert, key []byte, err error) {
	return certutil.GenerateSelfSignedCertKey(sourceName+"."+Namespace+".svc", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
}

// startSource builds towline-source, and runs a process of the name with the rights of the hub's ServiceAccount. startSource
// returns the port of the process.
func startSource(ctx context.Context, f *fleet.Fleet, name string, cert, key []byte, args ...string) (*fleet.Process, int, error) {
	binary := filepath.Join(f.Dir(), sourceName)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join(Root(), "cmd", sourceName)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("build %s: %w\n%s", sourceName, err, out)
	}
	certFile, keyFile := filepath.Join(f.Dir(), name+".crt"), filepath.Join(f.Dir(), name+".key")
	for path, data := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, 0, err
		}
	}
	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, Namespace, sourceName)
	if err != nil {
		return nil, 0, err
	}
	ports, err := f.FreePorts(1)
	if err != nil {
		return nil, 0, err
	}
	process, err := f.Run(ctx, fleet.Command{
		Name: name, Path: binary, Args: append([]string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--tls-cert-file=" + certFile, "--tls-private-key-file=" + keyFile,
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--data=" + filepath.Join(f.Dir(), name+"-data"),
		}, args...),
		Ready: fleet.HTTPReady(fmt.Sprintf("https://127.0.0.1:%d/readyz", ports[0])),
	})
	return process, ports[0], err
}

// serveSource makes the hub's API server send requests for repositories to a port. In a cluster, a Service does so for a
// ready pod. The process runs on this machine instead.
func serveSource(ctx context.Context, f *fleet.Fleet, port int, ca []byte) error {
	service, err := Manifest(f, "deploy/source/apiservice.yaml")
	if err != nil {
		return err
	}
	service = strings.Replace(service, "    port: 443", fmt.Sprintf("    port: %d\n  caBundle: %s", port, base64.StdEncoding.EncodeToString(ca)), 1)
	file, err := writeTemp(fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, "+
		"spec: {type: ExternalName, externalName: localhost}}\n---\n", sourceName, Namespace) + service)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	if _, err := f.Hub.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", file); err != nil {
		return err
	}
	return sourceAvailable(ctx, f)
}
