package towline

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/towline-io/towline/e2e/fleet"
)

// SecureMaestro runs one more of Maestro's servers, for the works of the fleet's. It speaks TLS, and to those only who show a certificate of
// the authority in the folder; see fleet.WriteCertificates. It asks the hub what they may. The arguments are for a towline-maestro that
// speaks to it, with the files of another folder.
func SecureMaestro(ctx context.Context, f *fleet.Fleet, dir, clientDir string) (*fleet.Process, []string, error) {
	ports, err := f.FreePorts(5)
	if err != nil {
		return nil, nil, err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	args := []string{
		"server", "--server-hostname=127.0.0.1", "--enable-jwt=false", "--enable-authz=false", "--enable-ocm-mock",
		"--enable-https", "--https-cert-file=" + file("server.crt"), "--https-key-file=" + file("server.key"),
		"--grpc-tls-cert-file=" + file("server.crt"), "--grpc-tls-key-file=" + file("server.key"),
		"--grpc-authn-type=mtls", "--grpc-client-ca-file=" + file("ca.crt"), "--grpc-authorizer-config=" + f.Hub.Kubeconfig(),
		"--message-broker-type=mqtt", "--message-broker-config-file=" + filepath.Join(f.Hub.DataDir(), "broker", "maestro.yaml"),
		"--source-id=" + fleet.MaestroSource, "--client-id=maestro-secure", "--db-max-open-connections=20",
	}
	for _, key := range []string{"host", "port", "name", "user", "password"} {
		args = append(args, fmt.Sprintf("--db-%s-file=%s", key, filepath.Join(f.Hub.DataDir(), "maestro", "db-"+key)))
	}
	for i, server := range []string{"http-server", "grpc-server", "grpc-broker", "metrics-server", "health-check-server"} {
		args = append(args, fmt.Sprintf("--%s-bindport=%d", server, ports[i]))
	}
	p, err := f.Run(ctx, fleet.Command{
		Name: "maestro-secure", Path: f.Program("maestro"), Args: args, Env: []string{"MAESTRO_ENV=production"},
		Ready: fleet.HTTPReady(fmt.Sprintf("http://127.0.0.1:%d/healthcheck", ports[4])),
	})
	file = func(name string) string { return filepath.Join(clientDir, name) }
	return p, []string{
		"--maestro-plaintext=false", fmt.Sprintf("--maestro-url=https://127.0.0.1:%d", ports[0]), fmt.Sprintf("--maestro-grpc=127.0.0.1:%d", ports[1]),
		"--maestro-ca-file=" + file("ca.crt"), "--maestro-cert-file=" + file("client.crt"), "--maestro-key-file=" + file("client.key"),
	}, err
}
