package bench

import (
	"context"
	"time"
)

// setup creates the clusters with their namespaces, the grants for the Applications, and the ApplicationSets.
func (b *Bench) setup(ctx context.Context) error {
	if err := b.grant(ctx); err != nil {
		return err
	}
	err := each(ctx, b.Clusters, b.Parallel, func(ctx context.Context, i int) error {
		return b.makeCluster(ctx, b.clusterName(i))
	})
	if err != nil {
		return err
	}
	b.setUIDs = make([]string, b.Sets)
	for i := range b.Sets {
		name := b.setName(i)
		if err := b.bare.create(ctx, setsPath, applicationSet(name)); err != nil {
			return err
		}
		var set struct {
			Metadata struct {
				UID string `json:"uid"`
			} `json:"metadata"`
		}
		if err := b.bare.get(ctx, setsPath+"/"+name, &set); err != nil {
			return err
		}
		b.setUIDs[i] = set.Metadata.UID
	}
	return nil
}

// grant permits every cluster for Applications of Argo CD's namespace: by a bound cluster set, and by the Applications'
// project.
func (b *Bench) grant(ctx context.Context) error {
	if err := b.bare.create(ctx, clusterSetsPath, object{
		"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
		"metadata": object{"name": clusterSet},
		"spec":     object{"clusterSelector": object{"selectorType": "ExclusiveClusterSetLabel"}},
	}); err != nil {
		return err
	}
	if err := b.bare.create(ctx, bindingsPath, object{
		"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
		"metadata": object{"name": clusterSet, "namespace": namespace},
		"spec":     object{"clusterSet": clusterSet},
	}); err != nil {
		return err
	}
	// The bench sets the condition, because the placement controller does not run.
	if err := b.bare.patch(ctx, bindingsPath+"/"+clusterSet+"/status", object{"status": object{
		"conditions": []object{condition("Bound", "ClusterSetBound", "", 0)},
	}}); err != nil {
		return err
	}
	return b.bare.create(ctx, projectsPath, object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
		"metadata": object{"name": "default", "namespace": namespace},
		"spec": object{
			"sourceRepos":              []string{"*"},
			"destinations":             []object{{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": []object{{"group": "*", "kind": "*"}},
		},
	})
}

func (b *Bench) makeCluster(ctx context.Context, name string) error {
	space := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}}
	if err := b.bare.create(ctx, namespacesPath, space); err != nil {
		return err
	}
	if err := b.bare.create(ctx, clustersPath, managedCluster(name)); err != nil {
		return err
	}
	return b.bare.patch(ctx, clustersPath+"/"+name+"/status", managedClusterStatus())
}

// makeApplications creates a part of the Applications in the order of the rollout, and returns the time of the first
// create.
func (b *Bench) makeApplications(ctx context.Context, from, to int) (time.Time, error) {
	bodies := make([][]byte, to-from)
	for i := range bodies {
		app := b.turn(from + i)
		bodies[i] = encoded(b.application(app, b.setUIDs[b.set(app)]))
	}
	began := time.Now()
	return began, each(ctx, len(bodies), b.Parallel, func(ctx context.Context, i int) error {
		return b.bare.create(ctx, applicationsPath, bodies[i])
	})
}
