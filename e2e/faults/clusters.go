package faults

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// own is the managed cluster of a single point. Its name is the point's id. The cluster has its own work agent for the
// API server of the first cluster. Faults of the cluster affect no further points.
const own = "own"

var (
	managedClusters = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"}
	namespaces      = corev1.SchemeGroupVersion.WithKind("Namespace")
	appliedWorks    = schema.GroupVersionKind{Group: works.Group, Version: works.Version, Kind: "AppliedManifestWork"}
)

// onOwn sends the point's Application to its own cluster.
const onOwn = `{"metadata":{"annotations":{"` + apis.AnnotationCluster + `":"POINT"}}}`

// clusters are flows with events of a managed cluster.
func clusters() []Flow {
	delivered := steps(imports(), starts(), create(onOwn), shows(own), remember(own))
	unreachable := steps(stops(), available("Unknown"), condition(apis.ConditionClusterUnreachableWarning))
	back := steps(starts(), available("True"))
	follows := steps(shows(own), noCondition(apis.ConditionClusterUnreachableWarning))
	missing := steps(deletesCluster(), condition(apis.ConditionPropagationError))
	return []Flow{
		{Name: "away", Steps: []Step{delivered, unreachable, back, follows}},
		{Name: "away-change", Steps: []Step{delivered, unreachable, patch(changed), back, follows}},
		{Name: "away-operation", Steps: []Step{delivered, unreachable, patch(operation), back, ended, follows}},
		{Name: "away-release", Steps: []Step{delivered, unreachable, patch(released), back, noWork(own), let}},
		{Name: "away-move", Steps: []Step{
			delivered, unreachable, patch(toSecond), condition(apis.ConditionMoveWarning), back,
			shows(second), onCluster(own, "gone", gone), noWork(own), noCondition(apis.ConditionMoveWarning),
		}},
		{Name: "away-delete", Steps: []Step{
			delivered, unreachable, remove(), condition(apis.ConditionDeletionWarning), back, over, onCluster(own, "gone", gone), noWork(own),
		}},
		{Name: "away-delete-force", Steps: []Step{
			delivered, unreachable, annotate(apis.AnnotationForceDelete, "true"), remove(), over, back, onCluster(own, "gone", gone), noWork(own),
		}},
		{Name: "rebuilt", Steps: []Step{delivered, stops(), wiped(), starts(), anew(), shows(own)}},
		{Name: "rebuilt-change", Steps: []Step{delivered, stops(), wiped(), patch(changed), starts(), anew(), shows(own)}},
		{Name: "cluster-deleted", Steps: []Step{delivered, missing}},
		{Name: "cluster-deleted-delete", Steps: []Step{delivered, missing, remove(), over}},
		{Name: "cluster-deleted-move", Steps: []Step{delivered, missing, patch(toSecond), shows(second), noCondition(apis.ConditionMoveWarning)}},
		{Name: "imported-again", Steps: []Step{
			delivered, missing, imports(), noCondition(apis.ConditionPropagationError), anew(), shows(own),
		}},
		{Name: "imported-late", Steps: []Step{
			create(onOwn), condition(apis.ConditionPropagationError), imports(), starts(), noCondition(apis.ConditionPropagationError), shows(own),
		}},
	}
}

// called returns the name of a cluster.
func (a *actor) called(cluster string) string {
	if cluster == own {
		return a.id
	}
	return cluster
}

// plane returns the API server of a cluster.
func (a *actor) plane(cluster string) *plane {
	if cluster == own {
		cluster = first
	}
	return a.world.clusters[cluster]
}

// imports creates the ManagedCluster of the point's own cluster, and waits until the cluster is accepted and has its
// namespace on the hub. imports then marks the cluster as available.
func imports() Step {
	return steps(tries(func(ctx context.Context, a *actor) error {
		mc := fixture.Cluster(a.id).Obj()
		mc.Spec.LeaseDurationSeconds = 3600 // no registration agent reports the availability
		return a.world.admin.Create(ctx, mc)
	}), eventually(func(ctx context.Context, a *actor) error {
		n, err := a.world.hub.find(ctx, namespaces, "", a.id)
		if err == nil && n == nil {
			return fmt.Errorf("the hub has no namespace %s", a.id)
		}
		return err
	}), eventually(func(ctx context.Context, a *actor) error {
		mc, err := a.world.hub.find(ctx, managedClusters, "", a.id)
		if err == nil && reasonOf(mc, clusterv1.ManagedClusterConditionHubAccepted) == "" {
			return fmt.Errorf("the hub has not accepted ManagedCluster %s", a.id)
		}
		return err
	}), available("True"))
}

// available sets the availability of the point's cluster on the hub.
func available(status string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		mc := &clusterv1.ManagedCluster{}
		mc.Name = a.id
		if err := a.world.admin.Get(ctx, client.ObjectKeyFromObject(mc), mc); err != nil {
			return err
		}
		meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionStatus(status), Reason: "Test",
		})
		return a.world.admin.Status().Update(ctx, mc)
	})
}

// deletesCluster deletes the ManagedCluster, and waits for the end of the deletion. The work agent removes its objects.
func deletesCluster() Step {
	return steps(tries(func(ctx context.Context, a *actor) error {
		return a.world.admin.Delete(ctx, fixture.Cluster(a.id).Obj())
	}), eventually(func(ctx context.Context, a *actor) error {
		mc, err := a.world.hub.find(ctx, managedClusters, "", a.id)
		if err == nil && mc != nil {
			return fmt.Errorf("ManagedCluster %s is still there", a.id)
		}
		return err
	}))
}

// starts starts the work agent of the point's own cluster, and stops stops it.
func starts() Step {
	return func(ctx context.Context, a *actor) error {
		if a.agent != nil {
			return a.agent.Restart(ctx)
		}
		f := a.world.Fleet
		ports, err := f.FreePorts(1)
		if err != nil {
			return err
		}
		address, hub := fmt.Sprintf("127.0.0.1:%d", ports[0]), f.Hub.Kubeconfig()
		a.agent, err = f.Run(ctx, fleet.Command{
			Name: "agent-" + a.id, Path: f.Program("work"), Args: []string{
				"agent", "--disable-leader-election", "--listen=" + address, "--spoke-cluster-name=" + a.id, "--agent-id=" + a.id,
				"--namespace=" + fleet.ArgoCDNamespace, "--kubeconfig=" + f.Cluster(first).Kubeconfig(),
				"--hub-kubeconfig=" + hub, "--workload-source-config=" + hub,
			},
			Ready: fleet.HTTPReady("https://" + address + "/healthz"), ReadyTimeout: 3 * time.Minute, StopGrace: time.Second,
		})
		return err
	}
}

func stops() Step {
	return func(_ context.Context, a *actor) error {
		a.agent.Stop()
		return nil
	}
}

// wiped deletes all objects from the point's own cluster, as for a rebuilt cluster.
func wiped() Step {
	return eventually(func(ctx context.Context, a *actor) error {
		left, err := a.plane(own).remove(ctx, a.id, false)
		if err == nil && left > 0 {
			return fmt.Errorf("%d objects are still on the cluster", left)
		}
		return err
	})
}

// anew waits until the remembered objects on the point's own cluster have been created again.
func anew() Step {
	return eventually(func(ctx context.Context, a *actor) error {
		p := a.plane(own)
		for _, kind := range []schema.GroupVersionKind{applications, workloads} {
			objects, err := p.of(ctx, kind, a.id)
			if err != nil {
				return err
			}
			if len(objects) == 0 || objects[0].GetUID() == a.remembered[place(p, &objects[0])] {
				return fmt.Errorf("there is no other %s on %s", kind.Kind, p.name)
			}
		}
		return nil
	})
}
