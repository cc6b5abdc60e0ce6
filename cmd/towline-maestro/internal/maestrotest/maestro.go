package maestrotest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cetypes2 "github.com/cloudevents/sdk-go/v2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

// A Backup is a copy of the database.
type Backup struct{ rows map[string]row }

// row is a bundle in Maestro's database. The fake replaces rows, and never changes a row.
type row struct {
	version  int64
	cluster  string
	created  time.Time
	deleted  *time.Time
	metadata string
	changed  time.Time
	data     payload.ManifestBundle
	sequence string
	status   workv1.ManifestWorkStatus
}

// Hooks run before or after the calls with the same name. An error of a hook is the error of the call. A Before hook
// with an error stops the call.
type Hooks struct {
	BeforePublish, AfterPublish func(action cetypes.EventAction) error
	BeforeGet                   func(id string) error
	BeforeSubscribe             func() error
	BeforeList                  func(since time.Time) error
}

// Maestro is a fake Maestro in memory.
type Maestro struct {
	mu        sync.Mutex
	hooks     Hooks
	rows      map[string]row
	clusters  map[string]bool
	listeners map[int]chan *cloudevents.Event
	next      int
	sequence  int64
	silent    bool
	published []cetypes.EventAction
	applied   map[string]applied         // the last state applied by an agent, by bundle id
	resources []workv1.ManifestCondition // the resource status in the agents' reports
}

// applied is the last state of a bundle applied by an agent, and the version in the agent's report.
type applied struct {
	data    payload.ManifestBundle
	labels  map[string]string
	version int64
}

// New returns a Maestro without clusters and bundles.
func New() *Maestro {
	return &Maestro{
		rows: map[string]row{}, clusters: map[string]bool{}, listeners: map[int]chan *cloudevents.Event{}, sequence: 1792842398301163520,
		applied: map[string]applied{},
	}
}

// Hook replaces the hooks.
func (m *Maestro) Hook(hooks Hooks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks = hooks
}

func (m *Maestro) asked() Hooks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hooks
}

// Publish implements mirror.Maestro.
func (m *Maestro) Publish(_ context.Context, event *cloudevents.Event) error {
	kind, err := cetypes.ParseCloudEventsType(event.Type())
	if err != nil {
		return err
	}
	hooks := m.asked()
	if hooks.BeforePublish != nil {
		if err := hooks.BeforePublish(kind.Action); err != nil {
			return err
		}
	}
	if err := m.publish(kind.Action, event); err != nil {
		return err
	}
	if hooks.AfterPublish != nil {
		return hooks.AfterPublish(kind.Action)
	}
	return nil
}

func (m *Maestro) publish(action cetypes.EventAction, event *cloudevents.Event) error {
	id, version, next, err := decode(event)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.published = append(m.published, action)
	found, ok := m.rows[id]
	switch action {
	case cetypes.CreateRequestAction:
		if ok || !m.clusters[next.cluster] {
			return fmt.Errorf("failed to create resource: %s exists, or cluster %s does not", id, next.cluster)
		}
		next.version, next.created, next.changed = version, time.Now(), time.Now()
		m.rows[id] = next
	case cetypes.UpdateRequestAction:
		if err := updatable(ok, found, version, next); err != nil {
			return err
		}
		found.version, found.metadata, found.data, found.changed = found.version+1, next.metadata, next.data, time.Now()
		m.rows[id] = found
	case cetypes.DeleteRequestAction:
		if ok && found.deleted == nil {
			now := time.Now()
			found.deleted, found.changed = &now, now
			m.rows[id] = found
		}
	}
	return nil
}

func updatable(ok bool, found row, version int64, next row) error {
	spec := func(r row) *workv1.ManifestWorkSpec {
		return &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: r.data.Manifests}}
	}
	switch {
	case !ok:
		return fmt.Errorf("failed to get resource: %w", maestro.ErrNotFound)
	case found.deleted != nil:
		return fmt.Errorf("the resource is under deletion")
	case version != found.version:
		return fmt.Errorf("the resource version is not the latest, the latest version: %d", found.version)
	case !bundle.SameShape(spec(found), spec(next)):
		return fmt.Errorf("the new manifest bundle in the resource is invalid")
	}
	return nil
}

func decode(event *cloudevents.Event) (id string, version int64, next row, err error) {
	extensions := event.Extensions()
	if id, err = cetypes2.ToString(extensions[cetypes.ExtensionResourceID]); err != nil {
		return id, 0, next, err
	}
	number, err := cetypes2.ToInteger(extensions[cetypes.ExtensionResourceVersion])
	if err != nil {
		return id, 0, next, err
	}
	if next.cluster, err = cetypes2.ToString(extensions[cetypes.ExtensionClusterName]); err != nil {
		return id, 0, next, err
	}
	if next.metadata, err = cetypes2.ToString(extensions[cetypes.ExtensionWorkMeta]); err != nil {
		return id, 0, next, err
	}
	return id, int64(number), next, json.Unmarshal(event.Data(), &next.data)
}

// Get implements mirror.Maestro.
func (m *Maestro) Get(_ context.Context, id string) (*bundle.Bundle, error) {
	if hooks := m.asked(); hooks.BeforeGet != nil {
		if err := hooks.BeforeGet(id); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.rows[id]
	if !ok {
		return nil, maestro.ErrNotFound
	}
	return found.read(id)
}

// List implements mirror.Maestro.
func (m *Maestro) List(_ context.Context, since time.Time, each func(*bundle.Bundle), skipped func(error)) error {
	if hooks := m.asked(); hooks.BeforeList != nil {
		if err := hooks.BeforeList(since); err != nil {
			return err
		}
	}
	m.mu.Lock()
	rows := maps.Clone(m.rows)
	m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if b, err := rows[id].read(id); err != nil {
			skipped(err)
		} else if rows[id].changed.After(since) {
			each(b)
		}
	}
	return nil
}

// read returns the bundle of a row in the same way as the REST API.
func (r row) read(id string) (*bundle.Bundle, error) {
	answer := map[string]any{
		"id": id, "consumer_name": r.cluster, "version": r.version, "created_at": metav1.NewTime(r.created), "metadata": json.RawMessage(r.metadata),
		"manifests": r.data.Manifests,
	}
	if r.deleted != nil {
		answer["deleted_at"] = metav1.NewTime(*r.deleted)
	}
	if r.sequence != "" {
		answer["status"] = map[string]any{
			"SequenceID": r.sequence, "conditions": r.status.Conditions, "resourceStatus": r.status.ResourceStatus.Manifests,
		}
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return bundle.Read(data)
}

// Subscribe implements mirror.Maestro.
func (m *Maestro) Subscribe(ctx context.Context, handle func(*cloudevents.Event)) error {
	if hooks := m.asked(); hooks.BeforeSubscribe != nil {
		if err := hooks.BeforeSubscribe(); err != nil {
			return err
		}
	}
	m.mu.Lock()
	events := make(chan *cloudevents.Event, 1000)
	me := m.next
	m.next++
	m.listeners[me] = events
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, me)
	}()
	beat := cloudevents.NewEvent()
	beat.SetType(cetypes.HeartbeatCloudEventsType)
	handle(&beat)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-events:
			if !open {
				return fmt.Errorf("the connection has ended")
			}
			handle(event)
		}
	}
}

// AddCluster implements mirror.Maestro.
func (m *Maestro) AddCluster(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[name] = true
	return nil
}
