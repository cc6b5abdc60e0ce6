package fleet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Isolate restarts all processes of the plane in a network namespace of their own, with the same data. There, the
// processes reach each other, the plane's Redis, the hub's API server, and the given addresses of 127.0.0.1. Processes
// outside reach the plane as before. Isolate needs the rights of root. The returned function moves the processes back.
func (c *ControlPlane) Isolate(ctx context.Context, reach ...string) (back func(context.Context) error, err error) {
	if err := c.fleet.control.act(ctx, actIsolate, c.name, strings.Join(reach, " ")); err != nil {
		return nil, err
	}
	n, err := openNetns(c.fleet.paths.netns(c.name))
	if err != nil {
		return nil, errors.Join(err, c.fleet.control.act(ctx, actConnect, c.name, ""))
	}
	c.netns = n
	return func(ctx context.Context) error {
		n.close()
		c.netns = nil
		return c.fleet.control.act(ctx, actConnect, c.name, "")
	}, nil
}

// Isolated returns whether the plane is in a network namespace of its own.
func (c *ControlPlane) Isolated() bool { return c.netns != nil }

// CombinedOutput runs a program in the network of the plane, and returns its output.
func (c *ControlPlane) CombinedOutput(ctx context.Context, path string, args ...string) ([]byte, error) {
	if c.netns != nil {
		path, args = c.netns.command(path, args...)
	}
	return exec.CommandContext(ctx, path, args...).CombinedOutput()
}

// isolate moves the plane's processes into a network namespace. Redis and the fleet's own servers stay outside.
func (p *plane) isolate(ctx context.Context, reach []string) error {
	switch {
	case p.netns != nil:
		return fmt.Errorf("%s is in a network namespace already", p.name)
	case p.guest || p.transport != TransportHub:
		return fmt.Errorf("%s cannot be in a network namespace: its agents do not connect to the hub of this fleet alone", p.name)
	}
	hub, err := p.hub.addresses("kube-apiserver")
	if err != nil {
		return err
	}
	if p.name != hubName {
		reach = append(reach, hub...)
	}
	var serve []string
	p.portsMu.Lock()
	for purpose, port := range p.ports {
		if purpose == "redis" {
			reach = append(reach, loopback(port))
		} else {
			serve = append(serve, loopback(port))
		}
	}
	p.portsMu.Unlock()
	if p.netns, err = newNetns(ctx, p.paths.netns(p.name)); err != nil {
		return err
	}
	return p.move(ctx, func() error { return errors.Join(p.netns.reach(reach...), p.netns.serve(serve...)) })
}

// reconnect moves the plane's processes back into the network of the machine.
func (p *plane) reconnect(ctx context.Context) error {
	if p.netns == nil {
		return fmt.Errorf("%s is in no network namespace", p.name)
	}
	return p.move(ctx, p.leaveNetns)
}

// leaveNetns removes the plane's network namespace. The processes of the plane must have ended.
func (p *plane) leaveNetns() error {
	n := p.netns
	p.netns = nil
	if n == nil {
		return nil
	}
	return n.remove()
}

// move stops the plane's processes, calls a function that changes the plane's network, and starts the processes in this
// network. After an error in a network namespace, move starts the processes in the network of the machine.
func (p *plane) move(ctx context.Context, change func() error) error {
	layers := map[int][]*process{}
	p.mu.Lock()
	for _, process := range p.processes {
		if process.spec.owner == p.name && process.wanted() {
			layers[process.spec.layer] = append(layers[process.spec.layer], process)
		}
	}
	p.mu.Unlock()
	p.stopOwner(p.name)
	err := change()
	if err == nil {
		err = p.startLayers(ctx, layers)
	}
	if err == nil || p.netns == nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the processes come back although the caller waits no longer
	p.stopOwner(p.name)
	return errors.Join(err, p.leaveNetns(), p.startLayers(ctx, layers))
}

// startLayers starts processes in the plane's network, the lowest layer first.
func (p *plane) startLayers(ctx context.Context, layers map[int][]*process) error {
	for _, layer := range sortedKeys(layers) {
		group, ctx := errgroup.WithContext(ctx)
		for _, process := range layers[layer] {
			p.mu.Lock()
			process.spec.netns = p.netns
			p.mu.Unlock()
			group.Go(func() error { return process.start(ctx) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}
