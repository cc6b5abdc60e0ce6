package propagation

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/home"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// Explainer tells what becomes of an Application, and why. It observes and decides as the controller does, by what its client may
// read, and writes nothing. It knows neither what the controller remembers of ends and revocations, nor what a dry run would say.
type Explainer struct {
	// Client reads the hub; without a cache.
	Client client.Client

	// Options are those of the controller.
	Options delivery.Options

	// Clusters, ArgoCDNamespace and NamespaceRules are those of the controller's Authorization.
	Clusters, ArgoCDNamespace string
	NamespaceRules            []authorization.NamespaceRule

	// AppNamespaces are the controller's: the namespaces that administrators chose on clusters.
	AppNamespaces map[string]string

	// Executor is the controller's.
	Executor types.NamespacedName

	// Now tells the time; nil for the clock of the machine.
	Now func() time.Time
}

// Explain is the plan for an Application, with the facts that it was made from. An error is the API server's: a decision is not
// made from facts that could not be read.
func (e *Explainer) Explain(ctx context.Context, app *argocd.Application) (*delivery.Facts, *delivery.Plan, error) {
	homes := home.Namespaces(e.AppNamespaces)
	direct := &index.Direct{Client: homes.Client(e.Client), Work: work.Name(app)}
	r := &Reconciler{
		Client:   direct,
		Live:     direct,
		Options:  e.Options,
		Executor: e.Executor,
		Pauses:   pause.Direct(direct),
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
