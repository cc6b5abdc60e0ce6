package propagation

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// observeMore reads the needed facts.
func (r *Reconciler) observeMore(ctx context.Context, seen *observation, required delivery.FactSet) error {
	of := func(read func(context.Context, *observation) error) func(context.Context) error {
		return func(ctx context.Context) error { return read(ctx, seen) }
	}
	for _, each := range []struct {
		fact delivery.FactSet
		read func(context.Context) error
	}{
		{delivery.FactOwn, seen.observeOwn},
		{delivery.FactClaimants, seen.observeClaimantsWorks},
		{delivery.FactNeighbours, func(ctx context.Context) error { return seen.observeNeighbours(ctx, r.uncached.on(seen.App.Cluster())) }},
		{delivery.FactHubCopy, seen.observeHubCopy},
		{delivery.FactRehearsal, of(r.rehearse)},
		{delivery.FactReturn, seen.observeReturn},
		{delivery.FactDependencies, of(r.observeDependencies)},
		{delivery.FactLoss, of(r.observeLoss)},
		{delivery.FactIdentity, of(r.observeIdentity)},
		{delivery.FactReported, seen.observeReported},
		{delivery.FactChoice, of(r.observeChoice)},
		{delivery.FactLatest, func(ctx context.Context) error { return seen.observeLatest(ctx, r.Tracking) }},
		{delivery.FactOthers, seen.observeOthers},
		{delivery.FactRights, seen.observeRights},
	} {
		if required&each.fact == 0 {
			continue
		}
		if err := each.read(ctx); err != nil {
			return err
		}
		seen.Known |= each.fact
	}
	return nil
}

// observeOwn reads the Application's own work past the cache. The cache does not show the work: the cache is behind, or
// a user has removed the label.
func (seen *observation) observeOwn(ctx context.Context) (err error) {
	if seen.Own, err = hub.Get(ctx, seen.live, work.Key(seen.App), &workv1.ManifestWork{}); err != nil {
		return err
	}
	seen.OwnUnwatched = seen.Own != nil
	if err := seen.observeOwner(ctx); err != nil {
		return err
	}
	return seen.observeClusters(ctx)
}

// observeLatest reads the Application past the cache. If the request of the live Application differs, only the status
// and the refresh are taken. The cache will report the remaining changes and the deletion, and the facts so far belong
// to the cached Application.
func (seen *observation) observeLatest(ctx context.Context, tracked *settings.TrackingLabel) error {
	now, err := seen.readLive(ctx, tracked)
	if err != nil {
		return err
	}
	if now == nil {
		seen.Outdated = true
		return nil
	}
	if _, err := trim.Application(now); err != nil { // like the cache
		return err
	}
	if seen.Outdated = !delivery.SameRequest(seen.App, now); seen.Outdated {
		latest := seen.App.DeepCopy()
		latest.Status = now.Status
		delete(latest.Annotations, apis.AnnotationRefresh)
		if refresh, asked := now.Annotations[apis.AnnotationRefresh]; asked {
			metav1.SetMetaDataAnnotation(&latest.ObjectMeta, apis.AnnotationRefresh, refresh)
		}
		now = latest
	}
	seen.App = now
	return nil
}

// readLive reads the Application past the cache; nil if the hub has deleted or recreated it.
func (seen *observation) readLive(ctx context.Context, tracked *settings.TrackingLabel) (*argocd.Application, error) {
	app, err := hub.Get(ctx, seen.live, seen.Key, &argocd.Application{})
	if err != nil || app == nil || app.UID != seen.App.UID {
		return nil, err
	}
	return tracked.Unlabelled(ctx, app)
}

// observeOthers reads the works in Others past the cache. A deleted work stays as cached: the cache will report the
// deletion.
func (seen *observation) observeOthers(ctx context.Context) error {
	others := slices.Clone(seen.Others)
	for i, w := range others {
		now, err := hub.Get(ctx, seen.live, client.ObjectKeyFromObject(w), &workv1.ManifestWork{})
		if err != nil {
			return err
		}
		if now != nil {
			others[i] = now
		}
	}
	seen.Others = others
	return nil
}

// observeClaimantsWorks reads the works of the claimants, past the cache, if the cache shows none.
func (seen *observation) observeClaimantsWorks(ctx context.Context) (err error) {
	for i := range seen.Claimants {
		c := &seen.Claimants[i]
		if c.Work != nil {
			continue
		}
		if c.Work, err = hub.Get(ctx, seen.live, work.Key(c.App), &workv1.ManifestWork{}); err != nil {
			return err
		}
	}
	return nil
}

// observeNeighbours reads all works of the target's cluster. made are the works recently created on the cluster,
// possibly missing in the cache.
func (seen *observation) observeNeighbours(ctx context.Context, made []types.NamespacedName) error {
	list := &workv1.ManifestWorkList{}
	if err := seen.cache.List(ctx, list, client.InNamespace(seen.App.Cluster()), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	seen.Neighbours = make([]*workv1.ManifestWork, len(list.Items))
	for i := range list.Items {
		seen.Neighbours[i] = &list.Items[i]
	}
	for _, key := range made {
		shown := slices.ContainsFunc(seen.Neighbours, func(w *workv1.ManifestWork) bool { return client.ObjectKeyFromObject(w) == key })
		if shown || !work.NamedAfter(key.Name, seen.App.Name) { // a work with a different Application name cannot have the target
			continue
		}
		w, err := hub.Get(ctx, seen.live, key, &workv1.ManifestWork{})
		if err != nil {
			return err
		}
		if w != nil {
			seen.Neighbours = append(seen.Neighbours, w)
		}
	}
	return nil
}

// observeHubCopy reads the Application at the target, if the hub itself is the target cluster.
func (seen *observation) observeHubCopy(ctx context.Context) (err error) {
	target := types.NamespacedName{Namespace: seen.App.ClusterNamespace(), Name: seen.App.Name}
	seen.HubCopy, err = hub.Get(ctx, seen.live, target, &argocd.Application{})
	return err
}

// observeReturn checks for each work with a request whether Towline may send the Application to the target of the work
// again. An Application equal to the copy in the work is always permitted, because the cluster gets nothing new.
func (seen *observation) observeReturn(ctx context.Context) error {
	seen.Return = map[types.UID]*authorization.Refusal{}
	for _, w := range seen.works() {
		if !work.CarriesRequest(w) {
			continue
		}
		refusal, err := seen.refusal(ctx, work.ApplicationOn(seen.App, w))
		if err != nil {
			return err
		}
		if refusal != nil && !work.StillBrings(w, seen.Clusters[w.Namespace].Reading(seen.App)) {
			seen.Return[w.UID] = refusal
		}
	}
	return nil
}

// observeRights checks for each work whether the content may still be on the cluster.
func (seen *observation) observeRights(ctx context.Context) error {
	seen.Lost = map[types.UID]*authorization.Refusal{}
	for _, w := range seen.works() {
		carried, ok := work.Carried(w)
		if !ok {
			carried, _ = work.Replaced(w)
		}
		refusal, err := seen.refusedThere(ctx, w, carried)
		if err != nil {
			return err
		}
		if refusal != nil {
			seen.Lost[w.UID] = refusal
		}
	}
	return nil
}

// observeDependencies checks for each work in release whether the dependencies stay on the cluster without the work.
func (r *Reconciler) observeDependencies(ctx context.Context, seen *observation) error {
	seen.Dependencies = map[types.UID]bool{}
	for _, w := range seen.works() {
		if !work.DependenciesStay(w) {
			continue
		}
		released := true
		if r.Dependencies != nil {
			var err error
			if released, err = r.Dependencies.Released(ctx, w); err != nil {
				return err
			}
		}
		seen.Dependencies[w.UID] = released
	}
	return nil
}

// observeLoss asks the lossDetector whether the hub has lost the Application. The answer is about all works, in any order.
func (r *Reconciler) observeLoss(ctx context.Context, seen *observation) error {
	seen.Loss = delivery.Loss{}
	known := slices.ContainsFunc(seen.Others, func(w *workv1.ManifestWork) bool {
		return w.Annotations[apis.AnnotationOrphanedAt] != "" || // kept after an earlier loss
			work.ByOlder(w) || // the older controller left such works behind, together with their Applications
			work.IsExcludedFromBackup(w) && !hasRun(ctx, seen.cache, w)
	})
	if known {
		seen.Loss.Lost = r.losses.stillLost(seen.Key)
		return nil
	}
	seen.Loss.Lost, seen.Loss.Remaining = r.losses.judge(seen.Key, seen.Now)
	return nil
}

// hasRun reports whether the ApplicationSet named in a work has Applications on the hub. After a restore from a backup
// without these Applications, the ApplicationSet must run again first.
func hasRun(ctx context.Context, cache client.Reader, w *workv1.ManifestWork) bool {
	namespace, name, named := strings.Cut(w.Annotations[apis.AnnotationApplicationSet], "/")
	return !named || len(index.ApplicationsOfSet(ctx, cache, types.NamespacedName{Namespace: namespace, Name: name})) > 0
}

func (r *Reconciler) observeIdentity(_ context.Context, seen *observation) error {
	seen.Identity = r.newIdentity()
	return nil
}

// observeLive reads all facts for a destructive plan again, past the cache. It returns false if the hub has deleted or
// recreated the Application.
func (r *Reconciler) observeLive(ctx context.Context, seen *observation) (same bool, err error) {
	kept := seen.Known & delivery.FactRights // a freeze destroys nothing: cached facts are enough
	seen.past, seen.reader, seen.grants, seen.Known = true, r.Live, r.Grants.Past(r.Live), delivery.FactLatest|delivery.FactOthers|kept
	seen.Outdated = false
	if seen.App != nil {
		app, err := seen.readLive(ctx, r.Tracking)
		if err != nil || app == nil {
			return false, err
		}
		seen.App = app
	}
	if err := seen.observeLiveWorks(ctx); err != nil {
		return false, err
	}
	if err := seen.observeClusters(ctx); err != nil {
		return false, err
	}
	if seen.App == nil {
		return true, nil
	}
	if seen.Paused, err = r.Pauses.OnHubOf(ctx, r.Live, seen.App); err != nil {
		return false, err
	}
	if err := r.observeRevoked(ctx, seen); err != nil || !delivery.Sent(seen.App) {
		return true, err
	}
	return true, r.observeTarget(ctx, seen)
}

// observeLiveWorks reads the works again, past the cache. The live Application decides the key of the own work: the
// cached Application may have had an older cluster. A work with a different Application in the live annotations is
// dropped.
func (seen *observation) observeLiveWorks(ctx context.Context) (err error) {
	before, own := seen.works(), types.NamespacedName{}
	seen.Own, seen.OwnUnwatched, seen.Others = nil, false, nil
	if seen.App != nil && delivery.Named(seen.App) {
		own = work.Key(seen.App)
		if err := seen.observeLiveOwn(ctx, own); err != nil {
			return err
		}
	}
	for _, w := range before {
		if client.ObjectKeyFromObject(w) == own {
			continue
		}
		live, err := hub.Get(ctx, seen.live, client.ObjectKeyFromObject(w), &workv1.ManifestWork{})
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		if owner, named := work.HubApplication(live); named && owner == seen.Key {
			seen.Others = append(seen.Others, live)
		}
	}
	return nil
}

// observeLiveOwn reads the own work and the owner again, and whether the cache shows the work.
func (seen *observation) observeLiveOwn(ctx context.Context, own types.NamespacedName) (err error) {
	if seen.Own, err = hub.Get(ctx, seen.live, own, &workv1.ManifestWork{}); err != nil {
		return err
	}
	cached, err := hub.Get(ctx, seen.cache, own, &workv1.ManifestWork{})
	if err != nil {
		return err
	}
	seen.OwnUnwatched = seen.Own != nil && cached == nil
	return seen.observeOwner(ctx)
}

// noteRestore notes that the hub was restored, if a newly created work shows this. The work then has a lower version
// than the cached Application, and the API server does not have the Application.
func (r *Reconciler) noteRestore(ctx context.Context, seen *observation, made *workv1.ManifestWork) {
	if wentBack(seen.App, made) && hub.IsAbsent(r.Live.Get(ctx, seen.Key, &argocd.Application{})) {
		r.losses.restore()
	}
}

// observeReported reads when the work agents last reported. The time comes from the managed fields, which are not in
// the cache.
func (seen *observation) observeReported(ctx context.Context) error {
	seen.Reported = map[types.UID]time.Time{}
	for _, w := range seen.works() {
		now, err := hub.Get(ctx, seen.live, client.ObjectKeyFromObject(w), &workv1.ManifestWork{})
		if err != nil {
			return err
		}
		if now == nil {
			continue
		}
		for _, f := range now.ManagedFields {
			if f.Subresource == "status" && f.Time != nil && f.Time.After(seen.Reported[w.UID]) {
				seen.Reported[w.UID] = f.Time.Time
			}
		}
	}
	return nil
}
