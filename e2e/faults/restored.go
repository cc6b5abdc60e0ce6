package faults

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
)

// orphaned is Towline's mark on a work whose Application the hub has lost.
const orphaned = `{"metadata":{"annotations":{"` + apis.AnnotationOrphanedAt + `":"2026-01-02T03:04:05Z"}}}`

// restored are flows of a hub that is restored from a backup. All points share a hub. Therefore a point restores only
// its own objects, as Velero does: each object with a new UID, and without a status. The point's agent is away
// meanwhile, so its cluster does not notice the loss.
func restored() []Flow {
	delivered := steps(imports(), starts(), create(onOwn), shows(own), remember(own), backsUp())
	lost := steps(stops(), loses(applications), loses(works))
	lostApplication := steps(lost, restores(works, orphaned), starts(), applied())
	takenOver := steps(shows(own), oneWork(own), stayed(own, applications, workloads))
	return []Flow{
		{Name: "restored", Vanishes: true, Steps: []Step{delivered, lost, restores(applications), restores(works), starts(), takenOver}},
		{Name: "restored-older", Vanishes: true, Steps: []Step{
			delivered, patch(changed), shows(own), lost, restores(applications), restores(works), starts(), takenOver,
		}},
		{Name: "restored-without-work", Vanishes: true, Steps: []Step{delivered, lost, restores(applications), starts(), takenOver}},
		{Name: "restored-deleted", Vanishes: true, Steps: []Step{
			delivered, remove(), over, noWork(own), onCluster(own, "gone", gone),
			restores(applications), restores(works), anew(), shows(own), oneWork(own),
		}},
		{Name: "lost-found", Vanishes: true, Steps: []Step{delivered, lostApplication, create(onOwn), takenOver}},
		{Name: "lost-adopt", Vanishes: true, Steps: []Step{
			delivered, lostApplication, decides(delivery.AfterRestoreAdopt), noWork(own), let, stayed(own, applications, workloads),
		}},
		{Name: "lost-delete", Vanishes: true, Steps: []Step{
			delivered, lostApplication, decides(delivery.AfterRestoreDelete), noWork(own), onCluster(own, "gone", gone), stayed(own, workloads),
		}},
	}
}

// backsUp records the present state of the point's Application and works on the hub.
func backsUp() Step {
	return func(ctx context.Context, a *actor) error {
		for _, kind := range []schema.GroupVersionKind{applications, works} {
			all, err := a.world.hub.of(ctx, kind, a.id)
			if err != nil {
				return err
			}
			if len(all) != 1 {
				return fmt.Errorf("there are %d of %s to back up", len(all), kind.Kind)
			}
			a.backup = append(a.backup, all[0])
		}
		return nil
	}
}

// loses deletes all of the point's objects of a kind from the hub, in spite of finalizers.
func loses(kind schema.GroupVersionKind) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		all, err := a.world.hub.of(ctx, kind, a.id)
		if err != nil {
			return err
		}
		for i := range all {
			if err := a.world.hub.drop(ctx, &all[i]); err != nil {
				return err
			}
		}
		if len(all) > 0 {
			return fmt.Errorf("the hub has %d of %s still", len(all), kind.Kind)
		}
		return nil
	})
}

// restores creates the objects of a kind from the backup, edited by merge patches.
func restores(kind schema.GroupVersionKind, edits ...string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		for i := range a.backup {
			if a.backup[i].GroupVersionKind() != kind {
				continue
			}
			o, err := a.edited(anotherTime(&a.backup[i]), edits)
			if err != nil {
				return err
			}
			if err := a.world.hub.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
		return nil
	})
}

// anotherTime returns an object as restored from a backup.
func anotherTime(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := object(o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	out.SetLabels(o.GetLabels())
	out.SetAnnotations(o.GetAnnotations())
	out.SetFinalizers(o.GetFinalizers())
	out.Object["spec"] = o.DeepCopy().Object["spec"]
	return out
}

// applied waits until the agent of the point's own cluster has applied the point's work.
func applied() Step {
	return eventually(func(ctx context.Context, a *actor) error {
		all, err := a.world.hub.of(ctx, works, a.id)
		if err != nil {
			return err
		}
		if len(all) != 1 || !answered(&all[0]) {
			return fmt.Errorf("the agent of %s has not applied the one work there is", a.id)
		}
		return nil
	})
}

// decides sets the decision about a work whose Application is lost.
func decides(verb string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		all, err := a.world.hub.of(ctx, works, a.id)
		if err != nil {
			return err
		}
		for i := range all {
			if err := a.world.hub.patch(ctx, &all[i], annotation(apis.AnnotationOrphaned, verb)); err != nil {
				return err
			}
		}
		return nil
	})
}

// stayed waits until the remembered objects of some kinds exist on a cluster, with the same UIDs.
func stayed(cluster string, kinds ...schema.GroupVersionKind) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		p := a.plane(cluster)
		for _, kind := range kinds {
			objects, err := p.of(ctx, kind, a.id)
			if err != nil {
				return err
			}
			if len(objects) == 0 || objects[0].GetUID() != a.remembered[place(p, &objects[0])] {
				return fmt.Errorf("the %s of %s is not what it was", kind.Kind, p.name)
			}
		}
		return nil
	})
}
