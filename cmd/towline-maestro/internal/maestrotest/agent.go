package maestrotest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// IDs are those of all bundles.
func (m *Maestro) IDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.rows))
}

// Published are the writes that were asked for, in their order.
func (m *Maestro) Published() []cetypes.EventAction {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.published)
}

// Manifests are those of a bundle, as agents get them.
func (m *Maestro) Manifests(id string) []workv1.Manifest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[id].data.Manifests
}

// Version is that of a bundle.
func (m *Maestro) Version(id string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[id].version
}

// Silence has Maestro tell nothing from now on, or tell again.
func (m *Maestro) Silence(silent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = silent
}

// Cut ends all subscriptions.
func (m *Maestro) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for me, events := range m.listeners {
		close(events)
		delete(m.listeners, me)
	}
}

// Backup is the database as it is.
func (m *Maestro) Backup() Backup {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Backup{maps.Clone(m.rows)}
}

// Restore goes back to a backup. Nobody is told.
func (m *Maestro) Restore(backup Backup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = maps.Clone(backup.rows)
}

// Tells has what the agent says from now on name the version of the Application guestbook, and when its last operation began. The agent
// says so at once.
func (m *Maestro) Tells(id, version, began string) {
	m.mu.Lock()
	values := []workv1.FeedbackValue{}
	for name, value := range map[string]string{"resourceVersion": version, "operationStateStartedAt": began} {
		values = append(values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	m.resources = []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "guestbook"},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
	}}
	m.mu.Unlock()
	m.Report(id, "told")
}

// Report is the agent saying of a bundle, as Maestro has it, that it is applied. It gives the event by which Maestro tells of that. The
// agent applies a bundle when its spec or its labels have changed, as that of Open Cluster Management 1.2.0 does: otherwise it still
// names the version of which it has said so.
func (m *Maestro) Report(id, message string) *cloudevents.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[id]
	m.sequence++
	r.sequence = strconv.FormatInt(m.sequence, 10)
	labels := r.labels()
	if last, ok := m.applied[id]; !ok || !apiequality.Semantic.DeepEqual(last.data, r.data) || !maps.Equal(last.labels, labels) {
		m.applied[id] = applied{r.data, labels, r.version}
	}
	r.status = workv1.ManifestWorkStatus{Conditions: []metav1.Condition{{
		Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", Message: message,
		ObservedGeneration: m.applied[id].version,
	}}, ResourceStatus: workv1.ManifestResourceStatus{Manifests: m.resources}}
	r.changed = time.Now()
	m.rows[id] = r
	event := r.event(id)
	m.tell(event)
	return event
}

// HasApplied tells whether what the agent has applied last of a bundle is the bundle as it is.
func (m *Maestro) HasApplied(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.applied[id]
	return ok && apiequality.Semantic.DeepEqual(last.data, m.rows[id].data)
}

// Removed is the agent saying of a bundle that it has removed it. Maestro tells of that, and removes the bundle.
func (m *Maestro) Removed(id string) *cloudevents.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[id]
	m.sequence++
	r.sequence = strconv.FormatInt(m.sequence, 10)
	r.status = workv1.ManifestWorkStatus{Conditions: []metav1.Condition{{Type: common.ResourceDeleted, Status: metav1.ConditionTrue}}}
	delete(m.rows, id)
	delete(m.applied, id)
	event := r.event(id)
	m.tell(event)
	return event
}

// Drop removes a bundle without a word, as Maestro does with one that no agent has seen.
func (m *Maestro) Drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, id)
	delete(m.applied, id)
}

// Tell has Maestro tell of something, for instance once more.
func (m *Maestro) Tell(event *cloudevents.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell(event)
}

// tell needs the lock.
func (m *Maestro) tell(event *cloudevents.Event) {
	if m.silent {
		return
	}
	for _, events := range m.listeners {
		events <- event
	}
}

// labels are those of the metadata that travel with the bundle.
func (r row) labels() map[string]string {
	var meta metav1.ObjectMeta
	_ = json.Unmarshal([]byte(r.metadata), &meta) // without labels it is a bundle that no agent would take
	return meta.Labels
}

func (r row) event(id string) *cloudevents.Event {
	event := cloudevents.NewEvent()
	event.SetID(r.sequence)
	event.SetSource("agent")
	event.SetType(cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: cetypes.SubResourceStatus, Action: cetypes.UpdateRequestAction,
	}.String())
	event.SetExtension(cetypes.ExtensionResourceID, id)
	event.SetExtension(cetypes.ExtensionResourceVersion, r.version)
	event.SetExtension(cetypes.ExtensionStatusUpdateSequenceID, r.sequence)
	event.SetExtension(cetypes.ExtensionWorkMeta, r.metadata)
	data, _ := json.Marshal(payload.ManifestBundleStatus{ // it always can
		Conditions: r.status.Conditions, ResourceStatus: r.status.ResourceStatus.Manifests,
	})
	_ = event.SetData(cloudevents.ApplicationJSON, data)
	return &event
}
