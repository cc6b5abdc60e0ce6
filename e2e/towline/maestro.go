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

	certutil "k8s.io/client-go/util/cert"

	"github.com/towline-io/towline/e2e/fleet"
)

// maestroName is the name of the program that serves works of Maestro, of its ServiceAccount, and of its Service.
const maestroName = "towline-maestro"

// InstallMaestro puts the works of the hub into Maestro, as docs/maestro.md says: it runs towline-maestro with the rights of
// deploy/maestro, and has the hub's API server send requests for works there. more are arguments beside those.
func InstallMaestro(ctx context.Context, f *fleet.Fleet, more ...string) (*fleet.Process, error) {
	for _, file := range []string{"service_account", "role", "role_binding", "authentication", "lease"} {
		if err := Apply(ctx, f, &f.Hub.ControlPlane, "deploy/maestro/"+file+".yaml"); err != nil {
			return nil, err
		}
	}
	p, ca, port, err := runMaestro(ctx, f, more)
	if err != nil {
		return nil, err
	}
	// A pod has a Service with an address. A process is on this machine.
	service, err := Manifest(f, "deploy/maestro/apiservice.yaml")
	if err != nil {
		return nil, err
	}
	service = strings.Replace(service, "    port: 443", fmt.Sprintf("    port: %d\n  caBundle: %s", port, base64.StdEncoding.EncodeToString(ca)), 1)
	file, err := writeTemp(fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, "+
		"spec: {type: ExternalName, externalName: localhost}}\n---\n", maestroName, Namespace) + service)
	if err != nil {
		return nil, err
	}
	defer os.Remove(file)
	if _, err := f.Hub.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", file); err != nil {
		return nil, err
	}
	_, err = f.Hub.Kubectl(ctx, "wait", "--for=condition=Available", "apiservice/v1.work.open-cluster-management.io", "--timeout=60s")
	return p, err
}

// runMaestro starts towline-maestro, and gives the authority of its certificate and its port.
func runMaestro(ctx context.Context, f *fleet.Fleet, more []string) (*fleet.Process, []byte, int, error) {
	binary := filepath.Join(f.Dir(), maestroName)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, ".")
	build.Dir = filepath.Join(Root(), "cmd", maestroName)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, nil, 0, fmt.Errorf("build %s: %w\n%s", maestroName, err, out)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(maestroName+"."+Namespace+".svc", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, nil, 0, err
	}
	certFile, keyFile := filepath.Join(f.Dir(), maestroName+".crt"), filepath.Join(f.Dir(), maestroName+".key")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		return nil, nil, 0, err
	}
	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, Namespace, maestroName)
	if err != nil {
		return nil, nil, 0, err
	}
	ports, err := f.FreePorts(1)
	if err != nil {
		return nil, nil, 0, err
	}
	p, err := f.Run(ctx, fleet.Command{
		Name: maestroName, Path: binary, Args: append([]string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--tls-cert-file=" + certFile, "--tls-private-key-file=" + keyFile,
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--maestro-url=" + strings.TrimSuffix(f.Hub.MaestroURL(), "/api/maestro/v1"), "--maestro-grpc=" + f.Hub.MaestroGRPC(), "--maestro-plaintext",
		}, more...),
		Ready: fleet.HTTPReady(fmt.Sprintf("https://127.0.0.1:%d/readyz", ports[0])),
	})
	return p, cert, ports[0], err
}
