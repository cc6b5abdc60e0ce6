package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// startControlPlane starts etcd and kube-apiserver.
func (p *plane) startControlPlane(ctx context.Context) error {
	if err := p.startEtcd(ctx); err != nil {
		return err
	}
	address, err := p.addresses("kube-apiserver")
	if err != nil {
		return err
	}
	p.server = "https://" + address[0]
	if err := p.startAPIServer(ctx, address[0]); err != nil {
		return err
	}
	return p.connect()
}

func (p *plane) startEtcd(ctx context.Context) error {
	dir, err := p.dir("etcd")
	if err != nil {
		return err
	}
	addresses, err := p.addresses("etcd", "etcd-peer")
	if err != nil {
		return err
	}
	client, peer := "http://"+addresses[0], "http://"+addresses[1]
	env, err := p.environment("etcd")
	if err != nil {
		return err
	}
	return p.run(ctx, spec{
		owner: p.name, name: "etcd", path: p.programs.Path("etcd"), env: env, layer: layerStore,
		args: []string{
			"--name=" + p.name, "--data-dir=" + dir, "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + p.name + "=" + peer,
			"--quota-backend-bytes=8589934592",
		},
		ready: httpProbe(client + "/readyz"),
	})
}

func (p *plane) startAPIServer(ctx context.Context, address string) error {
	pki, err := p.servingFiles()
	if err != nil {
		return err
	}
	env, err := p.environment("kube-apiserver", p.memorySettings()...)
	if err != nil {
		return err
	}
	etcd, err := p.addresses("etcd")
	if err != nil {
		return err
	}
	args := apiServerArgs(pki, address, etcd[0])
	if args, err = p.auditArgs(args); err != nil {
		return err
	}
	return p.run(ctx, spec{
		owner: p.name, name: "kube-apiserver", path: p.programs.Path("kube-apiserver"), args: args, env: env,
		// A stop waits for remaining watchers. A short grace is safe, because etcd has all data.
		layer: layerAPIServer, grace: 2 * time.Second, ready: httpProbe("https://" + address + "/readyz"),
	})
}

// apiServerArgs returns the arguments of a kube-apiserver over an etcd.
func apiServerArgs(pki, address, etcd string) []string {
	file := func(name string) string { return filepath.Join(pki, name) }
	return []string{
		"--etcd-servers=http://" + etcd,
		// By default, an API server looks for a route to the internet, and a network namespace has none.
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + portOf(address),
		"--cert-dir=" + pki, "--tls-cert-file=" + file("server.crt"), "--tls-private-key-file=" + file("server.key"),
		"--client-ca-file=" + file("ca.crt"),
		// By these flags, the API server of an APIService trusts the user names in requests.
		"--requestheader-client-ca-file=" + file("front-proxy/ca.crt"), "--requestheader-allowed-names=" + frontProxy,
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + file("front-proxy/client.crt"), "--proxy-client-key-file=" + file("front-proxy/client.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + file("sa.key"), "--service-account-signing-key-file=" + file("sa.key"),
		"--authorization-mode=RBAC",
		// Pods are simulated and get no token. No controller removes the taint of a new node.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		// No client connects by Service address, and loopback is not a valid endpoint.
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged",
	}
}

// memorySettings bound the heap of an API server. With half as many collections (GOGC=200), the start of an API server takes
// 6 s of CPU instead of 8 s. Near its limit, an API server only collects garbage: the live heap of a cluster is less than half
// of the limit, and the hub's heap grows with the tests. Benchmarks of speed and scale have no limit.
func (p *plane) memorySettings() []string {
	switch {
	case p.opts.HubControlPlaneOnly:
		return nil
	case p.name == hubName:
		return []string{"GOMEMLIMIT=2GiB", "GOGC=200"}
	}
	return []string{"GOMEMLIMIT=700MiB", "GOGC=200"}
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (p *plane) auditArgs(args []string) ([]string, error) {
	if p.name != hubName || !p.opts.AuditLog {
		return args, nil
	}
	policy := filepath.Join(p.paths.pki(p.name), "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o644); err != nil {
		return nil, err
	}
	return append(args, "--audit-policy-file="+policy, "--audit-log-path="+p.paths.log("hub-audit")), nil
}

// frontProxy is the user name of an API server in requests to the API servers of APIServices.
const frontProxy = "front-proxy"

// frontProxyFiles writes the certificate of frontProxy and its authority, unless the files exist.
func (p *plane) frontProxyFiles() error {
	dir := filepath.Join(p.paths.pki(p.name), frontProxy)
	if _, err := os.Stat(filepath.Join(dir, "client.crt")); err == nil {
		return nil
	}
	ca, err := openAuthority(dir, frontProxy)
	if err != nil {
		return err
	}
	pair, err := ca.issue(identity{user: frontProxy})
	if err != nil {
		return err
	}
	return pair.write(dir, "client")
}

// servingFiles writes the API server's certificate and its key for ServiceAccount tokens, unless the files exist. It
// returns their folder.
func (p *plane) servingFiles() (string, error) {
	dir := p.paths.pki(p.name)
	if err := p.frontProxyFiles(); err != nil {
		return "", fmt.Errorf("keys of %s: %w", p.name, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sa.key")); err == nil {
		return dir, nil
	}
	pair, err := p.ca.issue(identity{user: "kube-apiserver", server: true})
	if err != nil {
		return "", err
	}
	key, err := newKey()
	if err != nil {
		return "", err
	}
	signing, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return "", err
	}
	if err := pair.write(dir, "server"); err != nil {
		return "", fmt.Errorf("keys of %s: %w", p.name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sa.key"), signing, 0o600); err != nil {
		return "", fmt.Errorf("keys of %s: %w", p.name, err)
	}
	return dir, nil
}

// startControllerManager runs the named controllers of Kubernetes.
func (p *plane) startControllerManager(ctx context.Context, controllers ...string) error {
	pki := p.paths.pki(p.name)
	return p.startComponent(ctx, "kube-controller-manager",
		"--controllers="+strings.Join(controllers, ","),
		"--service-account-private-key-file="+filepath.Join(pki, "sa.key"),
		"--root-ca-file="+filepath.Join(pki, "ca.crt"),
		"--cluster-signing-cert-file="+filepath.Join(pki, "ca.crt"),
		"--cluster-signing-key-file="+filepath.Join(pki, "ca.key"),
	)
}

// startComponent runs the controller manager or the scheduler. Both share most of their flags.
func (p *plane) startComponent(ctx context.Context, name string, args ...string) error {
	address, err := p.addresses(name)
	if err != nil {
		return err
	}
	kubeconfig, err := p.componentKubeconfig(name)
	if err != nil {
		return err
	}
	env, err := p.environment(name)
	if err != nil {
		return err
	}
	certs, err := p.dir("certs-" + name)
	if err != nil {
		return err
	}
	return p.run(ctx, spec{
		owner: p.name, name: name, path: p.programs.Path(name), env: env, layer: layerControllers, restart: true,
		args: append([]string{
			"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--cert-dir=" + certs,
			"--bind-address=127.0.0.1", "--secure-port=" + portOf(address[0]),
		}, args...),
		ready: httpProbe("https://" + address[0] + "/healthz"),
	})
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
