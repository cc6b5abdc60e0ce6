package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

const applicationController = "argocd-application-controller"

// startHubArgo runs Argo CD's application controller on the hub, for Applications of the given namespaces and of Argo
// CD's namespace.
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

// withNamespaces returns the extra arguments with the given namespaces for the hub's application controller. The
// namespaces of an earlier start are removed.
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

// StartArgoCD runs Argo CD's application controller on the hub. A fleet's hub starts without this controller. It
// handles Applications of Argo CD's namespace and of the given namespaces. StopArgoCD ends the controller.
func (h *Hub) StartArgoCD(ctx context.Context, namespaces ...string) error {
	return h.fleet.control.act(ctx, actHubArgo, hubName, strings.Join(namespaces, ","))
}

// StopArgoCD ends the controller of StartArgoCD.
func (h *Hub) StopArgoCD(ctx context.Context) error { return h.StopProcess(ctx, applicationController) }
