package fleet

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A ControlPlane is what the hub and the managed clusters have in common.
type ControlPlane struct {
	name   string
	fleet  *Fleet
	config *rest.Config
	argocd string
	redis  string
	etcd   string
}

// A Hub is the Open Cluster Management hub.
type Hub struct {
	ControlPlane
	url string

	maestro, maestroGRPC string
}

// A Cluster is a managed cluster.
type Cluster struct {
	ControlPlane
}

// Name is hub, or the name of the ManagedCluster.
func (c *ControlPlane) Name() string { return c.name }

// ArgoCDVersion is the version of its Argo CD: one of ArgoCDVersions.
func (c *ControlPlane) ArgoCDVersion() string { return c.argocd }

// Kubeconfig is the file of a user who may do everything.
func (c *ControlPlane) Kubeconfig() string { return c.fleet.paths.kubeconfig(c.name) }

// RESTConfig is a copy of that user's client configuration, without client-side rate limits.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Server is the API server's address.
func (c *ControlPlane) Server() string { return c.config.Host }

// Log is the log file of one of the plane's processes.
func (c *ControlPlane) Log(process string) string { return c.fleet.paths.log(c.name + "-" + process) }

// DataDir holds the plane's data; etcd's is the folder etcd in it.
func (c *ControlPlane) DataDir() string { return c.fleet.paths.data(c.name) }

// EtcdAddress is where the plane's etcd listens, without TLS.
func (c *ControlPlane) EtcdAddress() string { return c.etcd }

// RunAPIServer runs another kube-apiserver over the plane's data, as a control plane of several has them, and gives the client
// configuration of its admin. Its etcd is given: the plane's own, or what stands between the two.
func (c *ControlPlane) RunAPIServer(ctx context.Context, name, etcd string) (*Process, *rest.Config, error) {
	ports, err := c.fleet.FreePorts(1)
	if err != nil {
		return nil, nil, err
	}
	config := c.RESTConfig()
	address := loopback(ports[0])
	config.Host = "https://" + address
	process, err := c.fleet.Run(ctx, Command{
		Name: c.name + "-" + name, Path: c.fleet.Program("kube-apiserver"), Args: apiServerArgs(c.fleet.paths.pki(c.name), address, etcd),
		Ready: httpProbe(config.Host + "/readyz"), ReadyTimeout: 2 * time.Minute, StopGrace: 2 * time.Second,
	})
	return process, config, err
}

// StopProcess stops a process of the plane (etcd, kube-apiserver, work-agent, …) or one of the groups agent,
// apiserver and argocd. It stays stopped until StartProcess.
func (c *ControlPlane) StopProcess(ctx context.Context, what string) error {
	return c.fleet.control.act(ctx, actStop, c.name, what)
}

// StartProcess starts what StopProcess stopped, and waits until it is ready.
func (c *ControlPlane) StartProcess(ctx context.Context, what string) error {
	return c.fleet.control.act(ctx, actStart, c.name, what)
}

// StopAPIServer stops the kube-apiserver: the plane cannot be reached.
func (c *ControlPlane) StopAPIServer(ctx context.Context) error {
	return c.StopProcess(ctx, "apiserver")
}

// StartAPIServer starts the kube-apiserver again, with the data it had.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	return c.StartProcess(ctx, "apiserver")
}

// StopAgent stops OCM's agents: the cluster is cut off, and becomes Unknown on the hub after five leases.
func (c *Cluster) StopAgent(ctx context.Context) error { return c.StopProcess(ctx, "agent") }

// StartAgent starts OCM's agents again.
func (c *Cluster) StartAgent(ctx context.Context) error { return c.StartProcess(ctx, "agent") }

// Rebuild replaces the cluster by an empty one of the same name and waits until it is Available. Kubeconfigs of
// ServiceAccounts on it must be made anew.
func (c *Cluster) Rebuild(ctx context.Context) error {
	return c.fleet.control.act(ctx, actRebuild, c.name, "")
}

// Import makes the ManagedCluster again, after it was deleted, and waits until it is Available.
func (c *Cluster) Import(ctx context.Context) error {
	return c.fleet.control.act(ctx, actImport, c.name, "")
}

// AgentKubeconfig is the file of the cluster's agents for the hub: it reaches their own cluster namespace only.
func (c *Cluster) AgentKubeconfig() string { return c.fleet.paths.kubeconfig(c.name + "-agent") }

// ServiceAccountKubeconfig makes a file with a token of a ServiceAccount, which must exist: it has that
// account's rights and no others.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	return serviceAccountKubeconfig(ctx, c.fleet.paths, c.name, c.config, namespace, name)
}

// UserKubeconfig makes a file for a user of that name in those groups, known by a client certificate.
func (c *ControlPlane) UserKubeconfig(user string, groups ...string) (string, error) {
	return userKubeconfig(c.fleet.paths, c.name, c.config, user, groups)
}

// Kubectl runs kubectl as the plane's admin and gives what it prints.
func (c *ControlPlane) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.fleet.Program("kubectl"), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s on %s: %w: %s", strings.Join(args, " "), c.name, err, out)
	}
	return string(out), nil
}

// RedisAddress is where the plane's Argo CD has its Redis, which needs neither TLS nor a password.
func (c *ControlPlane) RedisAddress() string { return c.redis }

// AuditLog is the hub's audit log, if Options.AuditLog asked for one.
func (h *Hub) AuditLog() string { return filepath.Join(h.fleet.paths.logs(), "hub-audit.log") }

// ArgoCDURL is the address of argocd-server.
func (h *Hub) ArgoCDURL() string { return h.url }

// ArgoCDPassword is the password of argocd-server's user admin.
func (h *Hub) ArgoCDPassword(ctx context.Context) (string, error) {
	clients, err := kubernetes.NewForConfig(h.config)
	if err != nil {
		return "", err
	}
	var secret *corev1.Secret
	secret, err = clients.CoreV1().Secrets(ArgoCDNamespace).Get(ctx, "argocd-initial-admin-secret", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("password of argocd-server: %w", err)
	}
	return string(secret.Data["password"]), nil
}
