package agent

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/work"
)

// owners remembers the works that were read, so that a work is read once and not for every report.
type owners struct {
	mu    sync.Mutex
	works map[string]owner
}

// owner is a work and the Application that it carries.
type owner struct {
	uid     types.UID
	carries types.NamespacedName
}

func (o *owners) known(name string, app types.NamespacedName) types.UID {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.works[name]; known.carries == app {
		return known.uid
	}
	return ""
}

func (o *owners) remember(name string, known owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.works == nil {
		o.works = map[string]owner{}
	}
	o.works[name] = known
}

func (o *owners) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.works, name)
}

// owner is the UID of the work of that name; empty when there is none, or when it carries something else. A report
// that is not there may have gone with its work, so then the work is read anew.
func (r *Reconciler) owner(ctx context.Context, name string, app types.NamespacedName, current *metav1.PartialObjectMetadata) (types.UID, error) {
	if uid := r.owners.known(name, app); uid != "" && current != nil && current.DeletionTimestamp.IsZero() {
		return uid, nil
	}
	w := &workv1.ManifestWork{}
	if err := r.Works.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, w); err != nil {
		r.owners.forget(name)
		return "", client.IgnoreNotFound(err)
	}
	if !work.CarriesTo(w, app) {
		ctrl.LoggerFrom(ctx).Info("The Application has the mark of a ManifestWork that does not carry it, and is not reported", "manifestWork", name)
		return "", nil
	}
	r.owners.remember(name, owner{uid: w.UID, carries: app})
	return w.UID, nil
}
