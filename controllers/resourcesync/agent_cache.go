package resourcesync

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/sieve"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// NewAgent makes the source and adds its cache to a manager whose indexes are registered. It is a cache of its own
// because of what it looks up while it fills: a manager starts it when the shared one is full.
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
	return a, errors.Join(leaderless.Add(mgr, "reports", a.reports,
		"the ApplicationReports have not been read yet: may this ServiceAccount list them?"), o.setup(mgr))
}

// newInformer makes an informer of no more than is to be held. A transform of the cache could leave nothing out.
func (a *Agent) newInformer(
	lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, by toolscache.Indexers,
) toolscache.SharedIndexInformer {
	held := sieve.New(lw)
	held.Transform, held.Begin, held.Gone, held.Watches = a.hold, a.held.begin, a.forget, true
	return toolscache.NewSharedIndexInformer(held, obj, resync, by)
}
