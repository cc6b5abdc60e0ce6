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

// A ControlPlane has the common methods of the hub and the managed clusters.
type ControlPlane struct {
	name   string
	fleet  *Fleet
	config *rest.Config
	argocd string
	redis  string
	etcd   string

	// netns is the network namespace of the plane between Isolate and its end; nil for the network of the machine.
	netns *netns
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

// Name returns hub, or the name of the ManagedCluster.
func (c *ControlPlane) Name() string { return c.name }

// ArgoCDVersion returns the version of the plane's Argo CD, a member of ArgoCDVersions.
func (c *ControlPlane) ArgoCDVersion() string { return c.argocd }

// Kubeconfig returns the path of the kubeconfig of the plane's admin, a user with all rights.
func (c *ControlPlane) Kubeconfig() string { return c.fleet.paths.kubeconfig(c.name) }

// RESTConfig returns a copy of the admin's client configuration, without client-side rate limits.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Server returns the address of the API server.
func (c *ControlPlane) Server() string { return c.config.Host }

// Log returns the path of the log file of a process of the plane.
func (c *ControlPlane) Log(process string) string { return c.fleet.paths.log(c.name + "-" + process) }

// DataDir returns the folder of the plane's data. Its subfolder etcd has etcd's data.
func (c *ControlPlane) DataDir() string { return c.fleet.paths.data(c.name) }

// EtcdAddress returns the address of the plane's etcd, without TLS.
func (c *ControlPlane) EtcdAddress() string { return c.etcd }

// RunAPIServer runs an additional kube-apiserver over the plane's data, as in a control plane with several API servers.
// It returns the client configuration of the API server's admin. The argument etcd is the address of the plane's etcd,
// or of a proxy in front of etcd.
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

// StopProcess stops a process of the plane (etcd, kube-apiserver, work-agent, …) or one of the groups agent, apiserver
// and argocd. The process stays stopped until StartProcess.
func (c *ControlPlane) StopProcess(ctx context.Context, what string) error {
	return c.fleet.control.act(ctx, actStop, c.name, what)
}

// StartProcess starts the processes after StopProcess, and waits until they are ready.
func (c *ControlPlane) StartProcess(ctx context.Context, what string) error {
	return c.fleet.control.act(ctx, actStart, c.name, what)
}

// StopAPIServer stops the kube-apiserver. The plane is then unreachable.
func (c *ControlPlane) StopAPIServer(ctx context.Context) error {
	return c.StopProcess(ctx, "apiserver")
}

// StartAPIServer starts the kube-apiserver again, with the previous data.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	return c.StartProcess(ctx, "apiserver")
}

// StopAgent stops OCM's agents. The cluster is then cut off, and becomes Unknown on the hub after five leases.
func (c *Cluster) StopAgent(ctx context.Context) error { return c.StopProcess(ctx, "agent") }

// StartAgent starts OCM's agents again.
func (c *Cluster) StartAgent(ctx context.Context) error { return c.StartProcess(ctx, "agent") }

// Rebuild replaces the cluster by an empty cluster of the same name, and waits until the new cluster is Available.
// Kubeconfigs of ServiceAccounts of the old cluster are invalid afterwards.
func (c *Cluster) Rebuild(ctx context.Context) error {
	return c.fleet.control.act(ctx, actRebuild, c.name, "")
}

// Import makes the ManagedCluster again after its deletion, and waits until the cluster is Available.
func (c *Cluster) Import(ctx context.Context) error {
	return c.fleet.control.act(ctx, actImport, c.name, "")
}

// AgentKubeconfig returns the path of the agents' kubeconfig for the hub. It permits only the cluster's own namespace.
func (c *Cluster) AgentKubeconfig() string { return c.fleet.paths.kubeconfig(c.name + "-agent") }

// ServiceAccountKubeconfig writes a kubeconfig with a token of an existing ServiceAccount, and returns its path. The
// kubeconfig has only the rights of the ServiceAccount.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	return serviceAccountKubeconfig(ctx, c.fleet.paths, c.name, c.config, namespace, name)
}

// UserKubeconfig writes a kubeconfig with a client certificate of a user in groups, and returns its path.
func (c *ControlPlane) UserKubeconfig(user string, groups ...string) (string, error) {
	return userKubeconfig(c.fleet.paths, c.name, c.config, user, groups)
}

// Kubectl runs kubectl as the plane's admin, and returns the output.
func (c *ControlPlane) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.fleet.Program("kubectl"), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s on %s: %w: %s", strings.Join(args, " "), c.name, err, out)
	}
	return string(out), nil
}

// RedisAddress returns the address of the Redis of the plane's Argo CD. The Redis has no TLS and no password.
func (c *ControlPlane) RedisAddress() string { return c.redis }

// AuditLog returns the path of the hub's audit log. The log exists only with Options.AuditLog.
func (h *Hub) AuditLog() string { return filepath.Join(h.fleet.paths.logs(), "hub-audit.log") }

// ArgoCDURL returns the address of argocd-server.
func (h *Hub) ArgoCDURL() string { return h.url }

// ArgoCDPassword returns the password of argocd-server's user admin.
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
