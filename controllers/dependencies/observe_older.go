package dependencies

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// observeOlder reads whether an older controller has sent the AppProject to the cluster. Works taken over by Towline
// have an annotation with the AppProjects. Further works of the older controller lack the label by which the cache
// selects.
func (r *Reconciler) observeOlder(ctx context.Context, seen *observation) error {
	there := seen.ProjectThere(r.Options).String()
	brings := func(w *workv1.ManifestWork) bool { return slices.Contains(work.BroughtProjects(w), there) }
	if seen.Work == nil {
		if err := seen.observeWorks(ctx); err != nil {
			return err
		}
	}
	if seen.SentByOlder = slices.ContainsFunc(seen.Works, brings); seen.SentByOlder || r.notOlder.knows(seen.Work) {
		return nil
	}
	found, err := anyOlder(ctx, r.Live, seen.Key.Namespace, brings)
	if seen.SentByOlder = found; err == nil && !found {
		r.notOlder.note(seen.Work)
	}
	return err
}

// olderPage is the number of works in one page of a list past the cache.
const olderPage = 100

// anyOlder reports whether a work of an ApplicationSet on the cluster matches. Works taken over by Towline count too,
// because Towline may take over a work between the read of the cache and this read.
func anyOlder(ctx context.Context, live client.Reader, cluster string, like func(*workv1.ManifestWork) bool) (found bool, err error) {
	fresh := func() *workv1.ManifestWorkList { return &workv1.ManifestWorkList{} }
	err = hub.Pages(ctx, live, fresh, func(list *workv1.ManifestWorkList, _ string) error {
		for i := range list.Items {
			if found = like(&list.Items[i]); found {
				return hub.ErrEnough
			}
		}
		return nil
	}, client.InNamespace(cluster), client.MatchingLabels{apis.LabelApplicationSet: "true"}, client.Limit(olderPage))
	return found, err
}

// notSentByOlder remembers the works of AppProjects for which no older controller has sent the AppProject to the cluster. No
// controller sends further AppProjects while Towline runs, and the agent's text about a refusal may change with each
// try. One read for each version of a work is enough.
type notSentByOlder struct {
	mu  sync.Mutex
	all map[types.NamespacedName]version
}

// version is a version of the content of a work.
type version struct {
	uid        types.UID
	generation int64
}

// knows reports whether the current version of a work is noted; false for a work that does not exist yet.
func (u *notSentByOlder) knows(w *workv1.ManifestWork) bool {
	if w == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all[client.ObjectKeyFromObject(w)] == version{w.UID, w.Generation}
}

func (u *notSentByOlder) note(w *workv1.ManifestWork) {
	if w == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[types.NamespacedName]version{}
	}
	u.all[client.ObjectKeyFromObject(w)] = version{w.UID, w.Generation}
}

// forget drops a deleted work.
func (u *notSentByOlder) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, key)
}
