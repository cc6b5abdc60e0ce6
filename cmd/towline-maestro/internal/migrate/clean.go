package migrate

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Clean removes works from the hub's etcd that agents fetch from Maestro.
func Clean(ctx context.Context, hub *Hub, maestro Maestro, o Options) error {
	works, err := hub.List(ctx, o.Clusters)
	if err != nil {
		return err
	}
	return o.carryOut(ctx, Fetched(works, inMaestro(maestro, o.Clusters)), func(ctx context.Context, s Step) error {
		return hub.forget(ctx, s.To)
	})
}

// Fetched is the removal of works from the hub's etcd: of each that Maestro has too, and of which the cluster's agent has
// spoken there. An agent whose source is the hub does not.
func Fetched(onHub, inMaestro []*workv1.ManifestWork) []Step {
	there := byName(inMaestro)
	steps := make([]Step, 0, len(onHub))
	for _, w := range onHub {
		s := Step{Verb: Wait, To: w}
		switch moved := there[nameOf(w)]; {
		case moved == nil:
			s.Why = "Maestro does not have the work: copy it"
		case meta.FindStatusCondition(moved.Status.Conditions, workv1.WorkApplied) == nil:
			s.Why = "the cluster's agent has said nothing of the work in Maestro: its source is still the hub"
		default:
			s.Verb = Remove
		}
		steps = append(steps, s)
	}
	return steps
}
