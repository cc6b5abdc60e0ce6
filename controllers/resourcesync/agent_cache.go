package resourcesync

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// NewAgent creates the source and adds the source's cache to a manager with registered indexes. The source needs its
// own cache, because the source looks Applications up in the shared cache while its own cache fills. A manager starts
// the source's cache after the shared cache is full.
func NewAgent(ctx context.Context, mgr ctrl.Manager) (*Agent, error) {
	a := &Agent{apps: mgr.GetClient(), live: mgr.GetAPIReader()}
	var err error
	a.reports, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		NewInformer: a.newInformer,
	})
	if err != nil {
		return nil, err
	}
	if _, err := a.reports.GetInformer(ctx, &v1alpha1.ApplicationReport{}); err != nil {
		return nil, err
	}
	o := &owners{Client: mgr.GetClient(), reports: a.reports, live: a.live}
	return a, errors.Join(informer.AddCache(mgr, "reports", a.reports,
		"the ApplicationReports have not been read yet: may this ServiceAccount list them?"), o.setup(mgr))
}

// newInformer returns an informer that drops reports beyond the limits. A transform of the cache could not drop an
// object.
func (a *Agent) newInformer(
	lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, by toolscache.Indexers,
) toolscache.SharedIndexInformer {
	sieve := informer.NewSieve(lw)
	sieve.Transform, sieve.Begin, sieve.Gone, sieve.Watches = a.shrink, a.budgets.begin, a.forget, true
	return toolscache.NewSharedIndexInformer(sieve, obj, resync, by)
}
