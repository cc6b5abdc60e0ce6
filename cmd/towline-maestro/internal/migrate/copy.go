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

// writers is how many works are written at the same time.
const writers = 8

// Options say which works are meant, and what to do with them.
type Options struct {
	// Clusters are those whose works are meant; none stands for all.
	Clusters []string

	// Prune removes works that are only at the place that works are copied to.
	Prune bool

	// DryRun says what would be done, and writes nothing.
	DryRun bool

	// Out gets a line for each work that waits, for each that cannot be written, with DryRun for each that would be, and the sums.
	Out io.Writer
}

// Maestro is what is needed of the works in Maestro: see mirror.Mirror. It has been filled.
type Maestro interface {
	All(namespace string, after types.NamespacedName) (iter.Seq[*workv1.ManifestWork], uint64)
	Create(ctx context.Context, w *workv1.ManifestWork) (*workv1.ManifestWork, error)
	Update(ctx context.Context, was, w *workv1.ManifestWork) (*workv1.ManifestWork, error)
	Delete(ctx context.Context, was *workv1.ManifestWork) (*workv1.ManifestWork, error)
}

// CopyToMaestro makes the works in Maestro the same as those in the hub's etcd.
func CopyToMaestro(ctx context.Context, hub *Hub, maestro Maestro, o Options) error {
	from, err := hub.List(ctx, o.Clusters)
	if err != nil {
		return err
	}
	return o.copy(ctx, from, inMaestro(maestro, o.Clusters), func(ctx context.Context, s Step) error {
		return toMaestro(ctx, maestro, s)
	})
}

// CopyToHub makes the works in the hub's etcd the same as those in Maestro.
func CopyToHub(ctx context.Context, hub *Hub, maestro Maestro, o Options) error {
	to, err := hub.List(ctx, o.Clusters)
	if err != nil {
		return err
	}
	return o.copy(ctx, inMaestro(maestro, o.Clusters), to, hub.write)
}

// copy makes and carries out the plan. A place without any work is taken for the wrong place, rather than for one to copy.
func (o *Options) copy(ctx context.Context, from, to []*workv1.ManifestWork, write func(context.Context, Step) error) error {
	if len(from) == 0 && len(to) > 0 {
		return fmt.Errorf("nothing to copy, but %d at the place to copy to: are --to and --source right?",
			len(to))
	}
	return o.carryOut(ctx, Plan(from, to, o.Prune), write)
}

// carryOut carries out steps, and says what became of them. A step that fails keeps no other one back.
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
	_ = group.Wait() // each failure has been counted
	o.sum(count, failed)
	if waits := count[Wait]; failed+waits > 0 {
		return fmt.Errorf("not complete: %d failed and %d have to wait, as said above; it can be run again", failed, waits)
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

// toMaestro carries out one step in Maestro. A work keeps its UID.
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

// sent is what is kept of a work of the hub in Maestro.
func sent(w *workv1.ManifestWork) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name, UID: w.UID, Labels: w.Labels, Annotations: w.Annotations, OwnerReferences: w.OwnerReferences,
		},
		Spec: *w.Spec.DeepCopy(),
	}
}

// inMaestro are the works of some clusters, or of all for none.
func inMaestro(maestro Maestro, clusters []string) []*workv1.ManifestWork {
	all, _ := maestro.All("", types.NamespacedName{})
	return slices.DeleteFunc(slices.Collect(all), func(w *workv1.ManifestWork) bool { return !chosen(clusters, w.Namespace) })
}

func chosen(clusters []string, cluster string) bool {
	return len(clusters) == 0 || slices.Contains(clusters, cluster)
}

// byName finds works by their names.
func byName(works []*workv1.ManifestWork) map[types.NamespacedName]*workv1.ManifestWork {
	out := make(map[types.NamespacedName]*workv1.ManifestWork, len(works))
	for _, w := range works {
		out[nameOf(w)] = w
	}
	return out
}
