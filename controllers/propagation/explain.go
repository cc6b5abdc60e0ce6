package propagation

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// Explainer explains the plan for an Application, and the reasons. Explain observes and decides like the controller,
// with the rights of the client, and writes no object. The Explainer does not know the controller's memory of
// deletions and revocations, and makes no dry run. It does not find the works of an earlier Application of the same
// name.
type Explainer struct {
	// Client reads the hub without a cache.
	Client client.Client

	// Options are the same as in the controller.
	Options delivery.Options

	// Clusters, ArgoCDNamespace and NamespaceRules are the same as in the controller's Authorization.
	Clusters, ArgoCDNamespace string
	NamespaceRules            []authorization.NamespaceRule

	// AppNamespaces are the same as in the controller: the namespaces on clusters, as chosen by administrators.
	AppNamespaces map[string]string

	// Executor is the same as in the controller.
	Executor types.NamespacedName

	// Now returns the current time; nil for the clock of the machine.
	Now func() time.Time
}

// Explain returns the plan for an Application, and the facts behind the plan. An error is an error of the API server:
// without the facts, Explain makes no decision.
func (e *Explainer) Explain(ctx context.Context, app *argocd.Application) (*delivery.Facts, *delivery.Plan, error) {
	homes := settings.Namespaces(e.AppNamespaces)
	direct := &index.Direct{Client: homes.Client(e.Client), Work: work.Name(app)}
	r := &Reconciler{
		Client:   direct,
		Live:     direct,
		Options:  e.Options,
		Executor: e.Executor,
		Pauses:   settings.DirectPauses(direct),
		Now:      e.Now,
		Grants: &grants.Checker{
			Reader: direct, Unindexed: true,
			Clusters:        cmp.Or(e.Clusters, grants.ClusterModes[0]),
			ArgoCDNamespace: e.ArgoCDNamespace,
			NamespaceRules:  e.NamespaceRules,
			Homes:           homes,
		},
	}
	seen, err := r.observe(ctx, client.ObjectKeyFromObject(app))
	if err != nil {
		return nil, nil, err
	}
	plan, err := r.decide(ctx, seen)
	if err != nil {
		return nil, nil, err
	}
	return &seen.Facts, plan, nil
}
