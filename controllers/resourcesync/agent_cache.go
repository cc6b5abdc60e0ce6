package resourcesync

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/standby"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/appreport"
)

// NewAgent makes the source and adds its cache to a manager whose indexes are registered. It is a cache of its own
// because of what it looks up while it fills: a manager starts it when the shared one is full.
func NewAgent(ctx context.Context, mgr ctrl.Manager) (*Agent, error) {
	a := &Agent{apps: mgr.GetClient(), live: mgr.GetAPIReader()}
	var err error
	a.reports, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&v1alpha1.ApplicationReport{}: {Transform: a.trim}},
	})
	if err != nil {
		return nil, err
	}
	if _, err := a.reports.GetInformer(ctx, &v1alpha1.ApplicationReport{}); err != nil {
		return nil, err
	}
	return a, errors.Join(mgr.Add(standby.Cache{Cache: a.reports}), mgr.AddReadyzCheck("reports", a.filled))
}

// filled is ready once the cache holds what the hub has.
func (a *Agent) filled(req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), time.Second)
	defer cancel()
	if !a.reports.WaitForCacheSync(ctx) {
		return errors.New("the ApplicationReports have not been read yet: may this ServiceAccount list them?")
	}
	return nil
}

// trim is what the cache holds of a report: what Facts reads of it, no larger than a report may be. A cluster can write
// reports of any name and number into its namespace; of those that no work of the hub accounts for, only the name is
// held. Should an Application come to need such a report later, Facts reads it from the API server.
func (a *Agent) trim(obj any) (any, error) {
	r, ok := obj.(*v1alpha1.ApplicationReport)
	if !ok {
		return obj, nil
	}
	out := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, Generation: r.Generation,
	}}
	if len(index.ApplicationsOfWork(context.Background(), a.apps, client.ObjectKeyFromObject(r))) > 0 {
		out.Application, out.ObservedAt = r.Application, r.ObservedAt
		out.Status, out.Unreadable, out.Truncated = r.Status, r.Unreadable, r.Truncated
		appreport.Bound(out)
	}
	return out, nil
}

// trimmed tells whether only the name of a report is held. The schema demands that a report names its Application.
func trimmed(r *v1alpha1.ApplicationReport) bool { return r.Application.Name == "" }
