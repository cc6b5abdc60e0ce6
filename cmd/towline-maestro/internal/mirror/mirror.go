package mirror

import (
	"context"
	"iter"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

const (
	// listEvery is how often the mirror reads all works, or only the changed works if a full read takes too much of the
	// time.
	listEvery = 5 * time.Minute

	// wholeShare is the largest share of the time for full reads, while a connection holds. Maestro takes a millisecond
	// of CPU for each work. Without the limit, the reads of 100,000 works took two minutes of every seven, and half a
	// core.
	wholeShare = 0.05

	// clocks is the largest tolerated lag of Maestro's clock behind the clock of this process.
	clocks = time.Minute

	// silence is how long Maestro may send no message. Maestro sends a heartbeat every ten seconds.
	silence = time.Minute

	// readers is the number of parallel reads of works.
	readers = 8

	// removalEnds is how long Maestro may take to remove a bundle, after Maestro's message about the removal by the
	// agent.
	removalEnds = 2 * time.Second

	// removalAgain is the interval of the reads of a bundle in deletion: Maestro silently removes a bundle not yet sent
	// to the agent.
	removalAgain = 20 * time.Second
)

// Maestro is the part of Maestro's API used by the mirror: see maestro.Client.
type Maestro interface {
	Publish(ctx context.Context, event *cloudevents.Event) error
	Subscribe(ctx context.Context, handle func(*cloudevents.Event)) error
	Get(ctx context.Context, id string) (*bundle.Bundle, error)
	List(ctx context.Context, since time.Time, each func(*bundle.Bundle), skipped func(error)) error
	AddCluster(ctx context.Context, name string) error
}

// Mirror holds the works of one source in Maestro, and writes the works.
type Mirror struct {
	// MayWrite returns an error if the process may not write. The mirror calls MayWrite before each write, because a
	// second process may lead now.
	MayWrite func() error

	// Quiet stops all reminders and moves, because agents may not fetch the works yet.
	Quiet bool

	// IDs makes the ids of new bundles. By default, the Mirror has a random key of its own.
	IDs bundle.IDs

	maestro Maestro
	source  string
	log     logr.Logger
	store   *store
	stale   workqueue.TypedRateLimitingInterface[string] // ids of the bundles to read

	moves     workqueue.TypedRateLimitingInterface[types.NamespacedName] // names of the works to get a new id: see mustMove
	removals  *removals
	questions workqueue.TypedRateLimitingInterface[question] // open questions: the agents have not answered
	lag       lag                                            // measures late answers of agents

	// locks allow one write or read of a work at a time. Several works share a lock.
	locks [256]sync.Mutex

	mu       sync.Mutex
	clusters map[string]bool // clusters known to Maestro
}

// New returns an empty mirror. Run fills the mirror.
func New(m Maestro, source string, log logr.Logger) *Mirror {
	return &Mirror{
		MayWrite: func() error { return nil },
		maestro:  m, source: source, log: log, store: newStore(time.Now()), clusters: map[string]bool{},
		stale:     workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second)),
		moves:     workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](time.Second, time.Minute)),
		questions: newQuestions(), removals: newRemovals(), IDs: bundle.NewIDs(source, bundle.NewKey()),
	}
}

// Run follows Maestro until the context ends.
func (m *Mirror) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range readers {
		running.Go(func() {
			for m.readOne(ctx) {
			}
		})
	}
	running.Go(func() {
		for limit := rate.NewLimiter(reminders, 1); m.remind(ctx, limit); {
		}
	})
	running.Go(func() {
		for limit := rate.NewLimiter(reminders, 1); m.move(ctx, limit); {
		}
	})
	m.keepFollowing(ctx)
	m.stale.ShutDown()
	m.questions.ShutDown()
	m.moves.ShutDown()
	running.Wait()
}

// Filled returns whether the mirror has read all works once.
func (m *Mirror) Filled() bool { return m.store.isFilled() }

// Get reads a work from Maestro. Get returns nil if Maestro does not have the work.
func (m *Mirror) Get(ctx context.Context, name types.NamespacedName) (*workv1.ManifestWork, error) {
	defer m.lock(name)()
	if err := m.readShown(ctx, name); err != nil {
		return nil, err
	}
	return m.Known(name), nil
}

// Known returns a work from the mirror, without a read from Maestro. Known returns nil if the mirror does not have the
// work.
func (m *Mirror) Known(name types.NamespacedName) *workv1.ManifestWork {
	if b := m.store.get(name); b != nil {
		return b.Work
	}
	return nil
}

// All returns the works of a namespace, or of all namespaces for "", in the order of the names. The works begin behind
// the name in after. The works are the state at the returned version. The caller must not change the works.
func (m *Mirror) All(namespace string, after types.NamespacedName) (iter.Seq[*workv1.ManifestWork], uint64) {
	return m.store.all(namespace, after)
}

// After returns the changes after a version, and a channel closed by the next change. After returns false for a version
// that is too old, or from a different process.
func (m *Mirror) After(version uint64) ([]Change, <-chan struct{}, bool) {
	return m.store.after(version)
}

// lock locks a work, and returns the function for the unlock.
func (m *Mirror) lock(name types.NamespacedName) func() {
	var sum byte
	for _, c := range []byte(name.Namespace + "/" + name.Name) {
		sum = sum*31 + c
	}
	lock := &m.locks[sum]
	lock.Lock()
	return lock.Unlock
}
