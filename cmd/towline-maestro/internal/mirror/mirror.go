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
	// listEvery is how often works are read again: all of them, or those that have changed where that is too much.
	listEvery = 5 * time.Minute

	// wholeShare bounds what reading all of them costs: while a connection holds, it takes at most this share of the time. Maestro takes a
	// millisecond of CPU for each. To read 100,000 works took two minutes of every seven, and half a core.
	wholeShare = 0.05

	// clocks is how far Maestro's clock may be behind ours.
	clocks = time.Minute

	// silence is how long Maestro may say nothing, not even that it is there, which it says every ten seconds.
	silence = time.Minute

	// readers is how many works are read at the same time.
	readers = 8

	// removalEnds is how long Maestro may take to remove a bundle after it has said that the agent removed it.
	removalEnds = 2 * time.Second

	// removalAgain is how often a bundle is read that is being removed: Maestro removes those that it has not sent yet without a word.
	removalAgain = 20 * time.Second
)

// Maestro is what the mirror needs of Maestro: see maestro.Client.
type Maestro interface {
	Publish(ctx context.Context, event *cloudevents.Event) error
	Subscribe(ctx context.Context, handle func(*cloudevents.Event)) error
	Get(ctx context.Context, id string) (*bundle.Bundle, error)
	List(ctx context.Context, since time.Time, each func(*bundle.Bundle), skipped func(error)) error
	AddCluster(ctx context.Context, name string) error
}

// Mirror holds the works that Maestro has for one source, and writes them.
type Mirror struct {
	// MayWrite is asked before each write: another process may have become the one that writes.
	MayWrite func() error

	// Quiet asks no agent again that does not answer: agents may not fetch these works yet.
	Quiet bool

	// IDs makes the ids of new bundles. By default, the Mirror has a random key of its own.
	IDs bundle.IDs

	maestro Maestro
	source  string
	log     logr.Logger
	store   *store
	stale   workqueue.TypedRateLimitingInterface[string] // ids of bundles to be read

	moves     workqueue.TypedRateLimitingInterface[types.NamespacedName] // works that get another id: see mustMove
	removals  *removals
	questions workqueue.TypedRateLimitingInterface[question] // those that agents have not answered yet
	lag       lag                                            // how late agents answer

	// locks let one write or reading of a work happen at a time. Works share them.
	locks [256]sync.Mutex

	mu       sync.Mutex
	clusters map[string]bool // which Maestro is known to know
}

// New makes an empty mirror; Run fills it.
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

// Filled tells whether all works have been read once.
func (m *Mirror) Filled() bool { return m.store.isFilled() }

// Get reads a work from Maestro; nil if there is none.
func (m *Mirror) Get(ctx context.Context, name types.NamespacedName) (*workv1.ManifestWork, error) {
	defer m.lock(name)()
	if err := m.readShown(ctx, name); err != nil {
		return nil, err
	}
	return m.Known(name), nil
}

// Known is a work as the mirror has it; nil if there is none.
func (m *Mirror) Known(name types.NamespacedName) *workv1.ManifestWork {
	if b := m.store.get(name); b != nil {
		return b.Work
	}
	return nil
}

// All are the works of a namespace, or of all for "", that come after a name in their order, at one moment, and the version of that
// moment. They are shared.
func (m *Mirror) All(namespace string, after types.NamespacedName) (iter.Seq[*workv1.ManifestWork], uint64) {
	return m.store.all(namespace, after)
}

// After are the changes after a version, and the channel that closes at the next one. It is false for a version too old, or of another
// process.
func (m *Mirror) After(version uint64) ([]Change, <-chan struct{}, bool) {
	return m.store.after(version)
}

// lock locks a work, and gives the function that unlocks it.
func (m *Mirror) lock(name types.NamespacedName) func() {
	var sum byte
	for _, c := range []byte(name.Namespace + "/" + name.Name) {
		sum = sum*31 + c
	}
	lock := &m.locks[sum]
	lock.Lock()
	return lock.Unlock
}
