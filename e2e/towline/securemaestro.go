package towline

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/towline-io/towline/e2e/fleet"
)

// SecureMaestro runs an additional server of Maestro for the works of the fleet. The server uses TLS with the
// certificate in dir; see fleet.WriteCertificates. asks is the authentication of clients: "mtls" for a certificate of
// dir's authority, or "token" for a token of the hub. The server asks the hub for the client's permissions. The
// returned arguments are for a towline-maestro client of the server, with the files in clientDir.
func SecureMaestro(ctx context.Context, f *fleet.Fleet, asks, dir, clientDir string) (*fleet.Process, []string, error) {
	ports, err := f.FreePorts(5)
	if err != nil {
		return nil, nil, err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	name := "maestro-" + asks
	p, err := f.Run(ctx, fleet.Command{
		Name: name, Path: f.Program("maestro"), Env: []string{fleet.MaestroEnv},
		Args: append(f.Hub.MaestroArgs(name, 20, ports),
			"--enable-https", "--https-cert-file="+file("server.crt"), "--https-key-file="+file("server.key"),
			"--grpc-tls-cert-file="+file("server.crt"), "--grpc-tls-key-file="+file("server.key"),
			"--grpc-authn-type="+asks, "--grpc-client-ca-file="+file("ca.crt"), "--grpc-authorizer-config="+f.Hub.Kubeconfig(),
		),
		Ready: fleet.HTTPReady(fmt.Sprintf("http://127.0.0.1:%d/healthcheck", ports[4])),
	})
	file = func(name string) string { return filepath.Join(clientDir, name) }
	shows := []string{"--maestro-token-file=" + file("token")}
	if asks == "mtls" {
		shows = []string{"--maestro-cert-file=" + file("client.crt"), "--maestro-key-file=" + file("client.key")}
	}
	return p, append(shows,
		"--maestro-plaintext=false", fmt.Sprintf("--maestro-url=https://127.0.0.1:%d", ports[0]), fmt.Sprintf("--maestro-grpc=127.0.0.1:%d", ports[1]),
		"--maestro-ca-file="+file("ca.crt"),
	), err
}
