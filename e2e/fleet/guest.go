package fleet

import (
	"context"
	"fmt"
	"os"
)

// addHub makes the hub of another fleet a managed cluster: a regional hub. The hub's processes belong to the other
// fleet, and the hub's work agents belong to this fleet.
func (s *supervisor) addHub(ctx context.Context, name, kubeconfig string) error {
	p, err := s.newCluster(name, func(p *plane) { p.guest = true })
	if err != nil {
		return err
	}
	if err := p.visit(kubeconfig); err != nil {
		return fmt.Errorf("future hub %s: %w", name, err)
	}
	crds, err := p.ocmCRDs(ofClusters)
	if err != nil {
		return err
	}
	if err := installCRDs(ctx, p.client, crds); err != nil {
		return err
	}
	if err := p.prepareAgents(ctx); err != nil {
		return err
	}
	return p.join(ctx)
}

// visit connects to a hub as its admin, by a kubeconfig of the hub's own fleet.
func (p *plane) visit(kubeconfig string) error {
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	path := p.paths.kubeconfig(p.name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	if err := p.connectBy(path); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server, p.ca = p.rest.Host, &authority{certPEM: p.rest.CAData}
	return nil
}

// JoinHub makes the hub of another fleet a managed cluster of this fleet, and returns when the cluster is Available. A
// stop of its agents cuts the hub off from this fleet only.
func (f *Fleet) JoinHub(ctx context.Context, name string, hub *Hub) (*Cluster, error) {
	if err := f.control.act(ctx, actJoinHub, name, hub.Kubeconfig()); err != nil {
		return nil, err
	}
	return f.joined(name)
}
