package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	api "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bootstrapAccount is the ServiceAccount in bootstrapNamespace whose token lets a cluster join, as `clusteradm init`
// makes the account.
const (
	bootstrapNamespace = "open-cluster-management"
	bootstrapAccount   = "agent-registration-bootstrap"
)

// bootstrapObjects give bootstrapAccount only the rights to request to join.
const bootstrapObjects = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: agent-registration-bootstrap, namespace: open-cluster-management}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "open-cluster-management:bootstrap"}
rules:
- {apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [create, get, list, watch]}
- {apiGroups: [cluster.open-cluster-management.io], resources: [managedclusters], verbs: [create, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "open-cluster-management:bootstrap"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "open-cluster-management:bootstrap"}
subjects: [{kind: ServiceAccount, name: agent-registration-bootstrap, namespace: open-cluster-management}]
`

// autoApproval makes the registration controller accept clusters with the token of bootstrapAccount.
var autoApproval = []string{"--feature-gates=ManagedClusterAutoApproval=true", autoApproved}

// autoApproved is the flag with the account whose certificate requests are approved.
const autoApproved = "--auto-approved-csr-users=system:serviceaccount:" + bootstrapNamespace + ":" + bootstrapAccount

// addCluster starts a new managed cluster. The cluster registers with the hub: its agent has only a bootstrap token,
// creates the ManagedCluster, and the hub accepts the cluster without a person.
func (s *supervisor) addCluster(ctx context.Context, name string) error {
	if err := s.hub.restartRegistration(ctx, autoApproval...); err != nil {
		return err
	}
	if err := s.hub.apply(ctx, "", bootstrapObjects); err != nil {
		return err
	}
	p, err := s.newCluster(name, func(p *plane) { p.registers = true })
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	close(ready)
	return p.startCluster(ctx, ready)
}

func (s *supervisor) newCluster(name string, as func(*plane)) (*plane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string]bool{hubName: true}
	for _, c := range s.clusters {
		known[c.name] = true
	}
	if err := validateClusterName(name, known); err != nil {
		return nil, err
	}
	p, err := s.newPlane(name)
	if err != nil {
		return nil, err
	}
	as(p)
	s.clusters = append(slices.Clip(s.clusters), p)
	return p, nil
}

// joined returns the cluster with a name, if the cluster has joined the fleet in the wanted way.
func (s *supervisor) joined(name string, wanted func(*plane) bool) (*plane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.planeOf(name); p != nil && p != s.hub && wanted(p) {
		return p, nil
	}
	return nil, fmt.Errorf("no cluster %q has joined this fleet: it has %v", name, s.planeNames()[1:])
}

// removeCluster ends a cluster of addCluster or provisionCluster, and deletes its ManagedCluster.
func (s *supervisor) removeCluster(ctx context.Context, name string) error {
	p, err := s.joined(name, func(p *plane) bool { return p.registers || p.imported })
	if err != nil {
		return err
	}
	if err := s.hub.detach(ctx, name); err != nil {
		return err
	}
	s.stopPlane(p)
	s.mu.Lock()
	s.clusters = slices.DeleteFunc(slices.Clone(s.clusters), func(q *plane) bool { return q == p })
	s.processes = slices.DeleteFunc(slices.Clone(s.processes), func(q *process) bool { return q.spec.owner == name })
	s.mu.Unlock()
	if err := removeAll(s.paths.data(name)); err != nil {
		return fmt.Errorf("removing the data of %s: %w", name, err)
	}
	s.save()
	return s.hub.restartRegistration(ctx)
}

// detach deletes a ManagedCluster and waits until the hub has removed it. The cluster's agents must still run, because
// they clean up.
func (p *plane) detach(ctx context.Context, name string) error {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(managedClusterKind)
	cluster.SetName(name)
	if err := client.IgnoreNotFound(p.client.Delete(ctx, cluster)); err != nil {
		return err
	}
	ctx, cancel := p.limit(ctx, "the hub has not let go of ManagedCluster "+name)
	defer cancel()
	return poll(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return err
		case err == nil:
			return fmt.Errorf("ManagedCluster %s is still there", name)
		}
		return nil
	})
}

// restartRegistration restarts the hub's registration controller with additional arguments, or without.
func (p *plane) restartRegistration(ctx context.Context, args ...string) error {
	if err := p.stopProcess(ctx, hubName, "registration-controller"); err != nil {
		return err
	}
	return p.startOCMController(ctx, "registration", args...)
}

// register lets the cluster's agents join with the bootstrap token, as after `clusteradm join`.
func (p *plane) register(ctx context.Context) error {
	bootstrap, err := p.hub.serviceAccountKubeconfig(ctx, bootstrapNamespace, bootstrapAccount)
	if err != nil {
		return err
	}
	return p.registerBy(ctx, bootstrap)
}

// registerBy starts the agents of a cluster with a kubeconfig that permits a request to join, and waits until the
// cluster is Available.
func (p *plane) registerBy(ctx context.Context, bootstrap string) error {
	if err := p.startRegistrationAgent(ctx, bootstrap, "--spoke-external-server-urls="+p.server); err != nil {
		return err
	}
	hubConfig, err := p.registered(ctx)
	if err != nil {
		return err
	}
	if err := p.startWorkAgent(ctx, hubConfig); err != nil {
		return err
	}
	return p.waitAvailable(ctx)
}

// registered waits until the registration agent has an identity on the hub. It writes a kubeconfig with this identity
// for the agents, and returns the path of the file.
func (p *plane) registered(ctx context.Context) (string, error) {
	dir, err := p.dir("hub-kubeconfig")
	if err != nil {
		return "", err
	}
	ctx, cancel := p.limit(ctx, fmt.Sprintf("the hub gave %s no identity (see %s and %s)", p.name,
		p.paths.log(p.name+"-registration-agent"), p.paths.log("hub-registration-controller")))
	defer cancel()
	err = poll(ctx, 100*time.Millisecond, func(context.Context) error {
		for _, name := range []string{"kubeconfig", "tls.crt", "tls.key"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	path := p.paths.kubeconfig(p.name + "-agent")
	return path, writeKubeconfig(path, renderKubeconfig(hubName, p.hub.server, p.hub.ca.certPEM, &api.AuthInfo{
		ClientCertificate: filepath.Join(dir, "tls.crt"), ClientKey: filepath.Join(dir, "tls.key")}))
}

// Join starts a new managed cluster, and returns when the cluster is Available. The cluster registers with the hub by a
// bootstrap token, without any action on the hub.
func (f *Fleet) Join(ctx context.Context, name string) (*Cluster, error) {
	if err := f.control.act(ctx, actJoin, name, ""); err != nil {
		return nil, err
	}
	return f.joined(name)
}

// joined returns a cluster that the fleet has just started, and adds the cluster to the fleet's list.
func (f *Fleet) joined(name string) (*Cluster, error) {
	config, err := loadRESTConfig(f.paths.kubeconfig(name))
	if err != nil {
		return nil, err
	}
	c := &Cluster{ControlPlane: ControlPlane{name: name, fleet: f, config: config}}
	f.clusters = append(slices.Clip(f.clusters), c)
	return c, nil
}

// Leave deletes the ManagedCluster of a cluster of Join or Provision, waits until the hub has removed it, and ends the
// cluster.
func (f *Fleet) Leave(ctx context.Context, name string) error {
	if err := f.control.act(ctx, actLeave, name, ""); err != nil {
		return err
	}
	f.clusters = slices.DeleteFunc(slices.Clone(f.clusters), func(c *Cluster) bool { return c.name == name })
	return nil
}
