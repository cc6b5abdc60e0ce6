package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ArgoCDNamespace is the namespace of Argo CD, on the hub and on each cluster.
const ArgoCDNamespace = "argocd"

// argoObjects are necessary objects that are not in Argo CD's own manifests. The key signs argocd-server's sessions.
const argoObjects = `
apiVersion: v1
kind: Secret
metadata:
  name: argocd-secret
  labels: {app.kubernetes.io/name: argocd-secret, app.kubernetes.io/part-of: argocd}
stringData: {server.secretkey: towline-fleet-session-key}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default}
spec:
  sourceRepos: ['*']
  destinations: [{namespace: '*', server: '*'}]
  clusterResourceWhitelist: [{group: '*', kind: '*'}]
`

// prepareArgoCD applies Argo CD's configuration and the ServiceAccounts and rights of the named components.
func (p *plane) prepareArgoCD(ctx context.Context, components ...string) error {
	for _, folder := range append([]string{"config"}, components...) {
		if err := p.applyManifests(ctx, ArgoCDNamespace, p.argo.set, argoManifests+"/"+folder, nil); err != nil {
			return err
		}
	}
	return p.apply(ctx, ArgoCDNamespace, argoObjects)
}

// startRedis starts the plane's Redis once. The Redis runs in this process.
func (p *plane) startRedis() error {
	address, err := p.addresses("redis")
	if err != nil || p.redis != nil {
		return err
	}
	p.redis, err = startRedis(address[0])
	return err
}

// address returns the address for a purpose, or an empty string if no port is free.
func (p *plane) address(purpose string) string {
	addresses, err := p.addresses(purpose)
	if err != nil {
		return ""
	}
	return addresses[0]
}

// startArgoHub runs the hub's part of Argo CD: the ApplicationSet controller, the API server, and the repo server for
// both.
func (p *plane) startArgoHub(ctx context.Context) error {
	if err := errors.Join(p.startRedis(), p.writeArgoCertificates()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.startRepoServer(ctx) })
	group.Go(func() error { return p.startApplicationSetController(ctx) })
	group.Go(func() error { return p.startArgoServer(ctx) })
	return group.Wait()
}

// startArgoCluster runs a managed cluster's part of Argo CD.
func (p *plane) startArgoCluster(ctx context.Context) error {
	if err := errors.Join(p.startRedis(), p.writeArgoCertificates()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.startRepoServer(ctx) })
	group.Go(func() error { return p.startApplicationController(ctx) })
	return group.Wait()
}

// argoConfig returns the folder in place of /app/config in the pods of Argo CD.
func (p *plane) argoConfig() string { return filepath.Join(p.paths.data(p.name), "argocd-config") }

// argoFile returns the path of a file in the subfolder reposerver of argoConfig.
func (p *plane) argoFile(name string) string {
	return filepath.Join(p.argoConfig(), "reposerver", filepath.FromSlash(name))
}

// writeArgoCertificates writes the files of the Secrets argocd-repo-server-tls and argocd-repo-server-mtls: the repo
// server's certificate, and the certificate of its clients.
func (p *plane) writeArgoCertificates() error {
	if !p.argo.mutualTLS {
		return nil
	}
	server, err := p.ca.issue(identity{user: "argocd-repo-server", server: true})
	if err != nil {
		return err
	}
	client, err := p.ca.issue(identity{user: "argocd-repo-server-client"})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"tls/tls.crt": server.cert, "tls/tls.key": server.key, "tls/ca.crt": p.ca.certPEM,
		"mtls/client-ca.crt": p.ca.certPEM, "mtls/client.crt": client.cert, "mtls/client.key": client.key,
	} {
		err := errors.Join(os.MkdirAll(filepath.Dir(p.argoFile(name)), 0o700), os.WriteFile(p.argoFile(name), data, 0o600))
		if err != nil {
			return fmt.Errorf("certificates of Argo CD's repo server: %w", err)
		}
	}
	return nil
}

// repoServerSecurity returns the repo server's argument about its clients' certificates.
func (p *plane) repoServerSecurity() string {
	if p.argo.mutualTLS {
		return "--client-ca-path=" + p.argoFile("mtls/client-ca.crt")
	}
	return "--disable-tls"
}

// repoServerAccess returns the arguments by which a client connects to the repo server.
func (p *plane) repoServerAccess() []string {
	if p.argo.mutualTLS {
		return []string{
			"--repo-server-ca-cert-path=" + p.argoFile("tls/ca.crt"),
			"--repo-server-client-cert-path=" + p.argoFile("mtls/client.crt"),
			"--repo-server-client-cert-key-path=" + p.argoFile("mtls/client.key"),
		}
	}
	return []string{"--repo-server-plaintext"}
}

func (p *plane) startRepoServer(ctx context.Context) error {
	addresses, err := p.addresses("repo-server", "repo-server-metrics")
	if err != nil {
		return err
	}
	return p.startArgo(ctx, "argocd-repo-server", "", httpProbe("http://"+addresses[1]+"/healthz"),
		"--address=127.0.0.1", "--port="+portOf(addresses[0]), p.repoServerSecurity(), "--redis="+p.address("redis"),
		"--metrics-address=127.0.0.1", "--metrics-port="+portOf(addresses[1]))
}

func (p *plane) startApplicationController(ctx context.Context) error {
	metrics, err := p.addresses("application-controller-metrics", "repo-server", commitServer)
	if err != nil {
		return err
	}
	return p.startArgo(ctx, "argocd-application-controller", "argocd-application-controller",
		httpProbe("http://"+metrics[0]+"/healthz"), append(p.repoServerAccess(),
			"--namespace="+ArgoCDNamespace, "--redis="+p.address("redis"), "--metrics-port="+portOf(metrics[0]),
			"--repo-server="+metrics[1],
			// The hydrator is optional in Argo CD. It has no effect on Applications without spec.sourceHydrator.
			"--hydrator-enabled", "--commit-server="+metrics[2])...)
}

func (p *plane) startApplicationSetController(ctx context.Context) error {
	addresses, err := p.addresses("applicationset-metrics", "applicationset-probe", "applicationset-webhook", "repo-server")
	if err != nil {
		return err
	}
	// The controller's probe address has no checks.
	return p.startArgo(ctx, "argocd-applicationset-controller", "argocd-applicationset-controller",
		httpProbe("http://"+addresses[0]+"/metrics"), append(p.repoServerAccess(),
			"--namespace="+ArgoCDNamespace, "--enable-progressive-syncs",
			"--metrics-addr="+addresses[0], "--probe-addr="+addresses[1], "--webhook-addr="+addresses[2],
			"--argocd-repo-server="+addresses[3])...)
}

func (p *plane) startArgoServer(ctx context.Context) error {
	addresses, err := p.addresses("argocd-server", "argocd-server-metrics", "repo-server")
	if err != nil {
		return err
	}
	return p.startArgo(ctx, "argocd-server", "argocd-server", httpProbe("http://"+addresses[0]+"/healthz"),
		append(p.repoServerAccess(),
			"--namespace="+ArgoCDNamespace, "--address=127.0.0.1", "--port="+portOf(addresses[0]), "--insecure",
			"--metrics-address=127.0.0.1", "--metrics-port="+portOf(addresses[1]), "--redis="+p.address("redis"),
			"--repo-server="+addresses[2])...)
}

// Folders of a plane for the mounted ConfigMaps argocd-tls-certs-cm and argocd-ssh-known-hosts-cm.
const (
	certificatesFolder = "argocd-tls"
	hostKeysFolder     = "argocd-ssh"
)

// MountCertificates writes a file for each entry of the ConfigMap argocd-tls-certs-cm, as the kubelet does for the
// plane's Argo CD.
func (c *ControlPlane) MountCertificates(entries map[string]string) error {
	return c.mount(certificatesFolder, entries)
}

// MountHostKeys writes a file for each entry of the ConfigMap argocd-ssh-known-hosts-cm, as the kubelet does for the
// plane's Argo CD.
func (c *ControlPlane) MountHostKeys(entries map[string]string) error {
	return c.mount(hostKeysFolder, entries)
}

func (c *ControlPlane) mount(name string, entries map[string]string) error {
	folder := filepath.Join(c.fleet.paths.data(c.name), name)
	there, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, file := range there {
		if _, stays := entries[file.Name()]; !stays {
			err = errors.Join(err, os.Remove(filepath.Join(folder, file.Name())))
		}
	}
	for key, text := range entries {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, key), []byte(text), 0o644))
	}
	return err
}

// startArgo runs a program of Argo CD with the rights of its ServiceAccount, or without a kubeconfig if account is
// empty.
func (p *plane) startArgo(ctx context.Context, name, account string, ready probe, args ...string) error {
	hostKeys, err := p.dir(hostKeysFolder)
	if err != nil {
		return err
	}
	certificates, err := p.dir(certificatesFolder)
	if err != nil {
		return err
	}
	program := p.programs.of(p.argo.set, name)
	folder := filepath.Dir(program)
	env, err := p.environment(name,
		// The repo server needs the program of its own version to answer Git's requests for passwords.
		"PATH="+strings.Join([]string{folder, filepath.Join(folder, scriptsFolder), p.paths.bin(), os.Getenv("PATH")}, string(os.PathListSeparator)),
		"ARGOCD_APP_CONF_PATH="+p.argoConfig(),
		// https://kubernetes.default.svc means the cluster of the kubeconfig.
		"ARGOCD_FAKE_IN_CLUSTER=true",
		// The ApplicationSet controller of 3.6 waits before each RollingSync, by default for 30 s.
		"ARGOCD_APPLICATIONSET_CONTROLLER_REFRESH_GRACE_PERIOD_SECONDS=1",
		"ARGOCD_GPG_ENABLED=false", "ARGOCD_TLS_DATA_PATH="+certificates, "ARGOCD_SSH_DATA_PATH="+hostKeys,
		// Repo servers on the same machine would receive each other's requests for passwords. The path of a socket must
		// be short, and a fleet's folder may have a long path.
		"ARGOCD_ASK_PASS_SOCK="+filepath.Join(os.TempDir(), "towline-ask-pass-"+portOf(p.address("repo-server"))+".sock"),
	)
	if err != nil {
		return err
	}
	if account != "" {
		kubeconfig, err := p.serviceAccountKubeconfig(ctx, ArgoCDNamespace, account)
		if err != nil {
			return err
		}
		env, args = append(env, "KUBECONFIG="+kubeconfig), append(args, "--kubeconfig="+kubeconfig)
	}
	return p.run(ctx, spec{
		owner: p.name, name: name, path: program, args: args, env: env,
		layer: layerControllers, restart: true, ready: ready,
	})
}
