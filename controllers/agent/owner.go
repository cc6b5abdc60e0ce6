package agent

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/work"
)

// ownerRetry is how long to wait for a work that is not there, or does not carry the Application: it may have been
// tampered with, and the hub puts that right without anything that the agent would hear of.
const ownerRetry = 30 * time.Second

// owners remembers the works that were read, by the Application that has their mark, so that a work is read once and
// not for every report.
type owners struct {
	mu    sync.Mutex
	works map[types.NamespacedName]owner
}

// owner is the work of an Application; without a UID when it does not carry it.
type owner struct {
	name string
	uid  types.UID
}

func (o *owners) get(app types.NamespacedName) owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.works[app]
}

// remember tells whether that was not known yet.
func (o *owners) remember(app types.NamespacedName, known owner) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.works == nil {
		o.works = map[types.NamespacedName]owner{}
	}
	before, ok := o.works[app]
	o.works[app] = known
	return !ok || before != known
}

func (o *owners) forget(app types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.works, app)
}

// owner is the UID of the work of that name; empty when there is none, or when it carries something else. A report
// that is not there may have gone with its work, so then the work is read anew. None is made for a work that is being deleted:
// where that waits for what it owns, the garbage collector would delete the report as often as it is made.
func (r *Reconciler) owner(ctx context.Context, name string, app types.NamespacedName, current *metav1.PartialObjectMetadata) (types.UID, error) {
	if known := r.owners.get(app); known.name == name && known.uid != "" && current != nil && current.DeletionTimestamp.IsZero() {
		return known.uid, nil
	}
	w := &workv1.ManifestWork{}
	if err := r.Works.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, w); err != nil {
		r.owners.forget(app)
		return "", client.IgnoreNotFound(err)
	}
	if current == nil && !w.DeletionTimestamp.IsZero() {
		return "", nil
	}
	known := owner{name: name}
	if work.CarriesTo(w, app) {
		known.uid = w.UID
	}
	if r.owners.remember(app, known) && known.uid == "" {
		ctrl.LoggerFrom(ctx).Info("The Application has the mark of a ManifestWork that does not carry it, and is not reported", "manifestWork", name)
	}
	return known.uid, nil
}
