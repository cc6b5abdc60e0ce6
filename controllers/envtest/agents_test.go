package envtest_test

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// agents play the common part of work agents (v1.2.0) for all tests. If a work asks for further values, agents add
// these values from the last report. A change of nothing but the requested values counts as applied, like the previous
// generation.
type agents struct {
	// reports are the last reports, with all values that a work could ask for, by the names of the works.
	reports sync.Map

	// applied are the applied generations that the hub does not show yet, by the UID of the works.
	applied map[types.UID]int64
}

var played = &agents{applied: map[types.UID]int64{}}

// start plays the agents until ctx ends.
func (a *agents) start(ctx context.Context) error {
	works, err := cache.New(hub, cache.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	informer, err := works.GetInformer(ctx, &workv1.ManifestWork{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		a.see(ctx, before.(*workv1.ManifestWork), after.(*workv1.ManifestWork))
	}})
	go func() { _ = works.Start(ctx) }() // the cache ends with ctx
	return err
}

// see gets every change of a work, one after the other.
func (a *agents) see(ctx context.Context, before, after *workv1.ManifestWork) {
	if before.Generation != after.Generation {
		known := a.applied[before.UID] == before.Generation || work.Outcome(before) != ""
		if known && sameButVolatile(before, after) {
			a.applied[after.UID] = after.Generation
		} else {
			delete(a.applied, after.UID)
		}
	}
	a.answer(ctx, after.DeepCopy())
}

// answer updates the status of a work. If the work has changed since, answer does nothing: see gets the new change as
// well.
func (a *agents) answer(ctx context.Context, w *workv1.ManifestWork) {
	before := w.DeepCopy()
	for i := range w.Status.Conditions {
		if c := &w.Status.Conditions[i]; a.applied[w.UID] == w.Generation {
			c.ObservedGeneration = max(c.ObservedGeneration, w.Generation)
		}
	}
	if report, ok := a.reports.Load(client.ObjectKeyFromObject(w)); ok && len(w.Status.ResourceStatus.Manifests) > 0 {
		w.Status = fixture.OnlyRequested(w, w.Status)
		manifest := &w.Status.ResourceStatus.Manifests[0]
		values := &manifest.StatusFeedbacks.Values
		full := fixture.OnlyRequested(w, report.(workv1.ManifestWorkStatus)).ResourceStatus.Manifests[0]
		wanted := slices.DeleteFunc(full.StatusFeedbacks.Values, isPlain)
		if len(wanted) > len(slices.DeleteFunc(slices.Clone(*values), isPlain)) {
			*values = append(slices.DeleteFunc(*values, isOnDemand), wanted...) // all of one version
			if synced := meta.FindStatusCondition(full.Conditions, feedback.ConditionSynced); synced != nil {
				meta.SetStatusCondition(&manifest.Conditions, *synced) // the condition belongs to the values
			}
		}
	}
	if equality.Semantic.DeepEqual(before.Status, w.Status) {
		return
	}
	_ = k8s.Status().Patch(ctx, w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func isOnDemand(v workv1.FeedbackValue) bool {
	return slices.Contains(feedback.VolatileNames, v.Name) || slices.Contains(feedback.DetailNames, v.Name)
}

func isPlain(v workv1.FeedbackValue) bool { return !isOnDemand(v) }

// sameButVolatile reports whether two versions of a work differ only in the rules for volatile values and details, in
// the way to watch, and in the force of server-side apply.
func sameButVolatile(before, after *workv1.ManifestWork) bool {
	x, y := before.DeepCopy(), after.DeepCopy()
	for _, w := range []*workv1.ManifestWork{x, y} {
		for i := range w.Spec.ManifestConfigs {
			config := &w.Spec.ManifestConfigs[i]
			config.FeedbackRules = slices.DeleteFunc(config.FeedbackRules, func(r workv1.FeedbackRule) bool {
				return equality.Semantic.DeepEqual(r, feedback.VolatileRule()) || equality.Semantic.DeepEqual(r, feedback.DetailRule())
			})
			config.FeedbackScrapeType = workv1.FeedbackWatchType
			if s := config.UpdateStrategy; s != nil && s.ServerSideApply != nil {
				s.ServerSideApply.Force = true
			}
		}
	}
	return equality.Semantic.DeepEqual(x.Spec, y.Spec)
}
