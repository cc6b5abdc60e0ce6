package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// writers is the number of works written at the same time.
const writers = 8

// Options select the works of a migration, and the actions.
type Options struct {
	// Clusters are the names of the clusters in the migration. An empty list means all clusters.
	Clusters []string

	// Prune removes works from the target of the copy if the origin does not have the works.
	Prune bool

	// DryRun prints the planned steps, and writes no work.
	DryRun bool

	// Out gets a line for each waiting work and for each failed write, and the sums. With DryRun, Out also gets a line
	// for each planned write.
	Out io.Writer
}

// Maestro reads and writes the works in Maestro; see mirror.Mirror. The caller fills the mirror first.
type Maestro interface {
	All(namespace string, after types.NamespacedName) (iter.Seq[*workv1.ManifestWork], uint64)
	Create(ctx context.Context, w *workv1.ManifestWork) (*workv1.ManifestWork, error)
	Update(ctx context.Context, was, w *workv1.ManifestWork) (*workv1.ManifestWork, error)
	Delete(ctx context.Context, was *workv1.ManifestWork) (*workv1.ManifestWork, error)
}

// CopyToMaestro makes the works in Maestro equal to the works in the hub's etcd.
func CopyToMaestro(ctx context.Context, hub *Hub, maestro Maestro, o Options) error {
	from, err := hub.List(ctx, o.Clusters)
	if err != nil {
		return err
	}
	return o.copy(ctx, from, inMaestro(maestro, o.Clusters), func(ctx context.Context, s Step) error {
		return toMaestro(ctx, maestro, s)
	})
}

// CopyToHub makes the works in the hub's etcd equal to the works in Maestro.
func CopyToHub(ctx context.Context, hub *Hub, maestro Maestro, o Options) error {
	to, err := hub.List(ctx, o.Clusters)
	if err != nil {
		return err
	}
	return o.copy(ctx, inMaestro(maestro, o.Clusters), to, hub.write)
}

// copy plans and executes the steps. If the origin has no works and the target has works, copy returns an error,
// because the origin is probably the wrong place.
func (o *Options) copy(ctx context.Context, from, to []*workv1.ManifestWork, write func(context.Context, Step) error) error {
	if len(from) == 0 && len(to) > 0 {
		return fmt.Errorf("nothing to copy, but the target has %d works: are --to and --source right?",
			len(to))
	}
	return o.carryOut(ctx, Plan(from, to, o.Prune), write)
}

// carryOut executes steps and prints the results. A failed step does not stop the further steps. carryOut returns an
// error if a step fails or has to wait.
func (o *Options) carryOut(ctx context.Context, steps []Step, write func(context.Context, Step) error) error {
	var mu sync.Mutex
	count := map[Verb]int{}
	failed := 0
	say := func(s Step, why string) {
		if why != "" {
			why = ": " + why
		}
		fmt.Fprintf(o.Out, "%-6s %s%s\n", s.Verb, s.Name(), why)
	}
	var group errgroup.Group
	group.SetLimit(writers)
	for _, s := range steps {
		count[s.Verb]++
		if s.Verb == Wait || o.DryRun {
			if s.Verb != Keep {
				say(s, s.Why)
			}
			continue
		}
		group.Go(func() error {
			if err := write(ctx, s); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed++
				say(s, err.Error())
			}
			return nil
		})
	}
	_ = group.Wait() // The functions count the failures, and return no error.
	o.sum(count, failed)
	if waits := count[Wait]; failed+waits > 0 {
		return fmt.Errorf("not complete: %d failed and %d have to wait, see the lines above; run the command again", failed, waits)
	}
	return ctx.Err()
}

func (o *Options) sum(count map[Verb]int, failed int) {
	done := "done"
	if o.DryRun {
		done = "dry run, nothing is written"
	}
	fmt.Fprintf(o.Out, "%s: %d to create, %d to update, %d to remove, %d as they should be, %d have to wait, %d failed\n",
		done, count[Create], count[Update], count[Remove], count[Keep], count[Wait], failed)
}

// toMaestro executes a step in Maestro. A work keeps the UID of the hub's work.
func toMaestro(ctx context.Context, maestro Maestro, s Step) error {
	var err error
	switch s.Verb {
	case Create:
		_, err = maestro.Create(ctx, sent(s.From))
	case Update:
		w := sent(s.From)
		w.CreationTimestamp, w.Finalizers = s.To.CreationTimestamp, s.To.Finalizers
		_, err = maestro.Update(ctx, s.To, w)
	case Remove:
		_, err = maestro.Delete(ctx, s.To)
	case Keep, Wait:
	default:
		err = errors.New("unknown step")
	}
	return err
}

// sent returns the parts of a hub's work for Maestro: the name, the UID, the labels, the annotations, the owners and
// the spec.
func sent(w *workv1.ManifestWork) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name, UID: w.UID, Labels: w.Labels, Annotations: w.Annotations, OwnerReferences: w.OwnerReferences,
		},
		Spec: *w.Spec.DeepCopy(),
	}
}

// inMaestro returns the works in Maestro for the clusters. An empty list means all clusters.
func inMaestro(maestro Maestro, clusters []string) []*workv1.ManifestWork {
	all, _ := maestro.All("", types.NamespacedName{})
	return slices.DeleteFunc(slices.Collect(all), func(w *workv1.ManifestWork) bool { return !chosen(clusters, w.Namespace) })
}

func chosen(clusters []string, cluster string) bool {
	return len(clusters) == 0 || slices.Contains(clusters, cluster)
}

// byName returns works by namespace and name.
func byName(works []*workv1.ManifestWork) map[types.NamespacedName]*workv1.ManifestWork {
	out := make(map[types.NamespacedName]*workv1.ManifestWork, len(works))
	for _, w := range works {
		out[nameOf(w)] = w
	}
	return out
}
