package towline

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	certutil "k8s.io/client-go/util/cert"

	"github.com/towline-io/towline/e2e/fleet"
)

// sourceName is the name of the program that serves repositories to clusters without Git, of its ServiceAccount, and of
// its Service.
const sourceName = "towline-source"

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
	binary := filepath.Join(f.Dir(), sourceName)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join(Root(), "cmd", sourceName)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", sourceName, err, out)
	}
	certFile, keyFile := filepath.Join(f.Dir(), name+".crt"), filepath.Join(f.Dir(), name+".key")
	cert, key, err := certutil.GenerateSelfSignedCertKey(sourceName+"."+Namespace+".svc", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	for path, data := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, Namespace, sourceName)
	if err != nil {
		return nil, err
	}
	ports, err := f.FreePorts(1)
	if err != nil {
		return nil, err
	}
	process, err := f.Run(ctx, fleet.Command{
		Name: name, Path: binary, Args: append([]string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--tls-cert-file=" + certFile, "--tls-private-key-file=" + keyFile,
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--argocd-namespace=" + Namespace, "--data=" + filepath.Join(f.Dir(), name+"-data"),
		}, more...),
		Ready: fleet.HTTPReady(fmt.Sprintf("https://127.0.0.1:%d/readyz", ports[0])),
	})
	if err != nil {
		return nil, err
	}
	return process, serveSource(ctx, f, ports[0], cert)
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
	_, err = f.Hub.Kubectl(ctx, "wait", "--for=condition=Available", "apiservice/v1alpha1.source.apps.open-cluster-management.io", "--timeout=60s")
	return err
}
