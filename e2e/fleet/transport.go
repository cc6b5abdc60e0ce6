package fleet

import (
	"context"
	"errors"
	"slices"
)

// addMaestro builds and runs Maestro on a hub that started without Maestro. The work agents keep their source of works.
func (s *supervisor) addMaestro(ctx context.Context) error {
	if s.opts.HubControlPlaneOnly {
		return errors.New("a hub that is a control plane only runs no Maestro")
	}
	builder := s.builder()
	builder.Transport = TransportMaestro
	programs, err := builder.Build(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.programs = programs
	s.mu.Unlock()
	if err := s.linkPrograms(); err != nil {
		return err
	}
	return s.hub.startMaestro(ctx)
}

// changeSource restarts a cluster's work agent with a different source of works.
func (p *plane) changeSource(ctx context.Context, transport string) error {
	if err := validateTransport(transport); err != nil {
		return err
	}
	p.mu.Lock()
	there := p.runsMaestro()
	p.mu.Unlock()
	if transport == TransportMaestro && !there {
		return errors.New("the hub runs no Maestro: start it first")
	}
	if err := p.stopProcess(ctx, p.name, "work-agent"); err != nil {
		return err
	}
	p.transport = transport
	return p.startWorkAgent(ctx, p.paths.kubeconfig(p.name+"-agent"))
}

// runsMaestro returns whether Maestro has been started on the hub. The caller must hold the lock.
func (s *supervisor) runsMaestro() bool {
	return slices.ContainsFunc(s.processes, func(p *process) bool { return p.spec.owner == hubName && p.spec.name == "maestro" })
}

// StartMaestro runs Maestro on a hub that started without Maestro. The clusters' work agents keep their source of
// works: see FetchWorks.
func (h *Hub) StartMaestro(ctx context.Context) error {
	if err := h.fleet.control.act(ctx, actMaestro, hubName, ""); err != nil {
		return err
	}
	status, err := h.fleet.Status(ctx)
	h.maestro, h.maestroGRPC = status.Maestro, status.MaestroGRPC
	return err
}

// FetchWorks restarts the cluster's work agent with a different source of works: TransportHub or TransportMaestro. It
// does not move the works.
func (c *Cluster) FetchWorks(ctx context.Context, transport string) error {
	return c.fleet.control.act(ctx, actSource, c.name, transport)
}

// BrokerAddress returns the address at which the work agents reach the broker of a hub with Maestro. An agent names the
// source of its applied works by this address, or by the address of the hub's API server.
func (h *Hub) BrokerAddress(ctx context.Context) (string, error) {
	status, err := h.fleet.Status(ctx)
	return status.Broker, err
}
