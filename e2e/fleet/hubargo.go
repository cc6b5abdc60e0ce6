package fleet

import (
	"context"
	"errors"
	"maps"
	"strings"
)

const applicationController = "argocd-application-controller"

// startHubArgo runs Argo CD's application controller on the hub too, for Applications of these namespaces beside its own.
func (p *plane) startHubArgo(ctx context.Context, namespaces string) error {
	if p.name != hubName {
		return errors.New("a managed cluster runs an application controller anyway")
	}
	if err := p.prepareArgoCD(ctx, "application-controller"); err != nil {
		return err
	}
	p.mu.Lock()
	args := map[string][]string{hubName + "/" + applicationController: {"--application-namespaces=" + namespaces}}
	maps.Copy(args, p.opts.ExtraArgs)
	p.opts.ExtraArgs = args
	p.mu.Unlock()
	return p.startApplicationController(ctx)
}

// StartArgoCD runs Argo CD's application controller on the hub too, where a fleet has none, for Applications of Argo CD's
// namespace and of these. StopArgoCD ends it.
func (h *Hub) StartArgoCD(ctx context.Context, namespaces ...string) error {
	return h.fleet.control.act(ctx, actHubArgo, hubName, strings.Join(namespaces, ","))
}

// StopArgoCD ends what StartArgoCD started.
func (h *Hub) StopArgoCD(ctx context.Context) error { return h.StopProcess(ctx, applicationController) }
