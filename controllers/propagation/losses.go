package propagation

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// losses tells the end of an Application from its loss. An end is told of by the API server's watch; after a start, and
// after a broken watch, all that is known is that an Application is not there. The zero value knows of nothing.
type losses struct {
	mu       sync.Mutex
	ended    map[types.NamespacedName]bool      // told of
	found    map[types.NamespacedName]time.Time // not told of, and since when that is known
	restored bool                               // the hub's versions went back
}

// watched notes what the watch tells of Applications. It lets everything through.
func (m *losses) watched() predicate.Predicate {
	key := client.ObjectKeyFromObject
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { m.forget(key(e.Object)); return true },
		UpdateFunc: func(e event.UpdateEvent) bool { m.compare(e.ObjectOld, e.ObjectNew); return true },
		DeleteFunc: func(e event.DeleteEvent) bool {
			if !e.DeleteStateUnknown {
				m.end(key(e.Object))
			}
			return true
		},
	}
}

// end notes that an Application was deleted, or lost its pull label.
func (m *losses) end(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil {
		m.ended = map[types.NamespacedName]bool{}
	}
	m.ended[app] = true
	delete(m.found, app)
	orphaned.Set(float64(len(m.found)))
}

// find notes that an Application is not there, and tells since when that is known, how many there are, and whether the
// hub was restored. The time is zero for one whose end was told of.
func (m *losses) find(app types.NamespacedName, now time.Time) (since time.Time, count int, restored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended[app] {
		return time.Time{}, 0, false
	}
	if m.found == nil {
		m.found = map[types.NamespacedName]time.Time{}
	}
	if m.found[app].IsZero() {
		m.found[app] = now
		orphaned.Set(float64(len(m.found)))
	}
	return m.found[app], len(m.found), m.restored
}

// forget drops an Application that is there, or that no work speaks of any more.
func (m *losses) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ended, app)
	delete(m.found, app)
	orphaned.Set(float64(len(m.found)))
}

// compare notes that the hub was restored from a backup when an object has a lower version than it had.
func (m *losses) compare(before, after client.Object) {
	if wentBack(before, after) {
		m.restore()
	}
}

func (m *losses) restore() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restored = true
}

// wentBack tells whether a version is lower than one before it. Versions come from one counter of etcd's, which only
// grows, unless its data is put back.
func wentBack(before, after client.Object) bool {
	old, errOld := strconv.ParseUint(before.GetResourceVersion(), 10, 64)
	now, errNow := strconv.ParseUint(after.GetResourceVersion(), 10, 64)
	return errOld == nil && errNow == nil && now < old
}

// noteRestore notes that the hub was restored, if a work that has just been made for an Application shows that: it has
// the lower version, and the hub does not know the Application, which the cache has from before.
func (r *Reconciler) noteRestore(ctx context.Context, app *argocd.Application, made *workv1.ManifestWork) {
	if wentBack(app, made) && gone.Is(r.Live.Get(ctx, client.ObjectKeyFromObject(app), &argocd.Application{})) {
		r.losses.restore()
	}
}
