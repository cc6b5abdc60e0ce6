package migrate

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Clean removes works from the hub's etcd if the agents fetch the works from Maestro.
func Clean(ctx context.Context, hub *Hub, maestro Maestro, o Options) error {
	works, err := hub.List(ctx, o.Clusters)
	if err != nil {
		return err
	}
	return o.carryOut(ctx, Fetched(works, inMaestro(maestro, o.Clusters)), func(ctx context.Context, s Step) error {
		return hub.forget(ctx, s.To)
	})
}

// Fetched returns the steps to remove works from the hub's etcd. A work is removed if Maestro has the work, with an
// Applied condition by the cluster's agent. An agent with the hub as the source does not report to Maestro. All further
// works wait.
func Fetched(onHub, inMaestro []*workv1.ManifestWork) []Step {
	there := byName(inMaestro)
	steps := make([]Step, 0, len(onHub))
	for _, w := range onHub {
		s := Step{Verb: Wait, To: w}
		switch moved := there[nameOf(w)]; {
		case moved == nil:
			s.Why = "Maestro does not have the work: copy it"
		case meta.FindStatusCondition(moved.Status.Conditions, workv1.WorkApplied) == nil:
			s.Why = "the cluster's agent has not reported the work to Maestro: the agent still reads works from the hub"
		default:
			s.Verb = Remove
		}
		steps = append(steps, s)
	}
	return steps
}
