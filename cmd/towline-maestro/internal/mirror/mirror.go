package mirror

import (
	"context"
	"errors"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

const (
	// listEvery is how often all works are read again.
	listEvery = 5 * time.Minute

	// silence is how long Maestro may say nothing, not even that it is there, which it says every ten seconds.
	silence = time.Minute

	// readers is how many works are read at the same time.
	readers = 8

	// removalEnds is how long Maestro may take to remove a bundle after it has said that the agent removed it.
	removalEnds = 2 * time.Second
)

// Maestro is what the mirror needs of Maestro: see maestro.Client.
type Maestro interface {
	Publish(ctx context.Context, event *cloudevents.Event) error
	Subscribe(ctx context.Context, handle func(*cloudevents.Event)) error
	Get(ctx context.Context, id string) (*bundle.Bundle, error)
	List(ctx context.Context, each func(*bundle.Bundle), skipped func(error)) error
	AddCluster(ctx context.Context, name string) error
}

// Mirror holds the works that Maestro has for one source, and writes them.
type Mirror struct {
	maestro Maestro
	source  string
	log     logr.Logger
	store   *store
	stale   workqueue.TypedRateLimitingInterface[string]

	// locks let one write or reading of a work happen at a time. Works share them, by their id.
	locks [256]sync.Mutex

	mu       sync.Mutex
	clusters map[string]bool // which Maestro is known to know
}

// New makes an empty mirror; Run fills it.
func New(m Maestro, source string, log logr.Logger) *Mirror {
	return &Mirror{
		maestro: m, source: source, log: log, store: newStore(source, time.Now()), clusters: map[string]bool{},
		stale: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second)),
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
	wait.UntilWithContext(ctx, m.follow, time.Second)
	m.stale.ShutDown()
	running.Wait()
}

// Filled tells whether all works have been read once.
func (m *Mirror) Filled() bool { return m.store.isFilled() }

// follow subscribes and lists, until the subscription ends or Maestro has been silent for too long.
func (m *Mirror) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // before the wait
	lists := make(chan struct{}, 1)
	running.Go(func() { m.lists(ctx, lists) })

	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	connected := false
	err := m.maestro.Subscribe(ctx, func(event *cloudevents.Event) {
		silent.Reset(silence)
		if !connected {
			// What happened between the list and this moment may not have been told.
			connected = true
			lists <- struct{}{}
		}
		m.heard(event)
	})
	m.log.Info("The subscription at Maestro has ended", "error", err)
}

// lists reads all works: at once, when it is asked, and every few minutes.
func (m *Mirror) lists(ctx context.Context, asked <-chan struct{}) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		case <-again.C:
		}
		next := listEvery
		if err := m.list(ctx); err != nil && ctx.Err() == nil {
			m.log.Error(err, "The works could not be listed")
			next = time.Second
		}
		again.Reset(next)
	}
}

// list reads all works. A list takes its time, and so shows some of them as they were: what seems to go back, and what seems to be
// missing, is read alone.
func (m *Mirror) list(ctx context.Context) error {
	missing := map[string]bool{}
	for _, id := range m.store.ids() {
		missing[id] = true
	}
	err := m.maestro.List(ctx, func(b *bundle.Bundle) {
		id := b.ID(m.source)
		delete(missing, id)
		lock := m.lock(id)
		defer lock.Unlock()
		was := m.store.byID(id)
		if was == nil && m.store.isFilled() || was != nil && older(b, was) {
			m.stale.Add(id)
			return
		}
		m.store.set(b)
	}, func(err error) { m.log.Info("A bundle is left alone", "error", err) })
	if err != nil {
		return err
	}
	for id := range missing {
		m.stale.Add(id)
	}
	m.store.fill()
	return nil
}

// older tells whether what was read may be from before what is known.
func older(b, known *bundle.Bundle) bool {
	return b.Work.UID != known.Work.UID || b.Work.Generation < known.Work.Generation ||
		b.Work.Generation == known.Work.Generation && bundle.Newer(known.Sequence, b.Sequence) ||
		!known.Work.DeletionTimestamp.IsZero() && b.Work.DeletionTimestamp.IsZero()
}

// heard deals with what Maestro tells.
func (m *Mirror) heard(event *cloudevents.Event) {
	said, err := bundle.ReadStatus(event)
	if errors.Is(err, bundle.ErrOther) {
		return
	}
	if err != nil {
		m.log.Info("An event of Maestro is left alone", "error", err)
		return
	}
	lock := m.lock(said.ID)
	defer lock.Unlock()
	known := m.store.byID(said.ID)
	switch {
	case said.Deleted:
		// Maestro says so just before it removes the bundle.
		m.store.remove(said.ID)
		m.stale.AddAfter(said.ID, removalEnds)
	case known == nil || known.Work.Generation != said.Version:
		m.stale.Add(said.ID)
	case bundle.Newer(said.Sequence, known.Sequence):
		work := *known.Work
		work.Status, work.ManagedFields = said.Status, bundle.Reported(said.Sequence)
		m.store.set(&bundle.Bundle{Work: &work, Sequence: said.Sequence})
	}
}

// readOne reads the next work of which the mirror does not know how it is. It is false when the mirror has stopped.
func (m *Mirror) readOne(ctx context.Context) bool {
	id, stopped := m.stale.Get()
	if stopped {
		return false
	}
	defer m.stale.Done(id)
	lock := m.lock(id)
	defer lock.Unlock()
	if err := m.read(ctx, id); err != nil {
		m.stale.AddRateLimited(id)
		return true
	}
	m.stale.Forget(id)
	return true
}

// read takes over what Maestro has of a work. It needs the work's lock.
func (m *Mirror) read(ctx context.Context, id string) error {
	b, err := m.maestro.Get(ctx, id)
	switch {
	case errors.Is(err, maestro.ErrNotFound):
		m.store.remove(id)
	case err != nil:
		return err
	case b.ID(m.source) == id:
		m.store.set(b)
	}
	return nil
}

// lock locks a work.
func (m *Mirror) lock(id string) *sync.Mutex {
	var sum byte
	for i := range len(id) {
		sum = sum*31 + id[i]
	}
	lock := &m.locks[sum]
	lock.Lock()
	return lock
}

// Get reads a work from Maestro; nil if there is none.
func (m *Mirror) Get(ctx context.Context, name types.NamespacedName) (*workv1.ManifestWork, error) {
	id := bundle.ID(m.source, name)
	lock := m.lock(id)
	defer lock.Unlock()
	if err := m.read(ctx, id); err != nil {
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

// All are the works of a namespace, or of all for "", at one moment, and the version of that moment. They are shared.
func (m *Mirror) All(namespace string) ([]*workv1.ManifestWork, uint64) {
	return m.store.all(namespace)
}

// After are the changes after a version, and the channel that closes at the next one. It is false for a version too old, or of another
// process.
func (m *Mirror) After(version uint64) ([]Change, <-chan struct{}, bool) {
	return m.store.after(version)
}
