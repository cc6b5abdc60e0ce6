package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
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
	p.opts.ExtraArgs = withNamespaces(p.opts.ExtraArgs, namespaces)
	p.mu.Unlock()
	return p.startApplicationController(ctx)
}

// withNamespaces are the arguments with which the hub's application controller looks at these namespaces, and not at those of an
// earlier start.
func withNamespaces(extra map[string][]string, namespaces string) map[string][]string {
	const key, flag = hubName + "/" + applicationController, "--application-namespaces="
	out := maps.Clone(extra)
	if out == nil {
		out = map[string][]string{}
	}
	kept := slices.DeleteFunc(slices.Clone(out[key]), func(arg string) bool { return strings.HasPrefix(arg, flag) })
	out[key] = append(kept, flag+namespaces)
	return out
}

// StartArgoCD runs Argo CD's application controller on the hub too, where a fleet has none, for Applications of Argo CD's
// namespace and of these. StopArgoCD ends it.
func (h *Hub) StartArgoCD(ctx context.Context, namespaces ...string) error {
	return h.fleet.control.act(ctx, actHubArgo, hubName, strings.Join(namespaces, ","))
}

// StopArgoCD ends what StartArgoCD started.
func (h *Hub) StopArgoCD(ctx context.Context) error { return h.StopProcess(ctx, applicationController) }
