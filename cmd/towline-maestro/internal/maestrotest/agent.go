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

// IDs returns the ids of all bundles, sorted.
func (m *Maestro) IDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.rows))
}

// Published returns the actions of the published writes, in order. Writes refused by Maestro's rules are included.
// Writes stopped by a BeforePublish hook are not included.
func (m *Maestro) Published() []cetypes.EventAction {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.published)
}

// Manifests returns the manifests of a bundle, in the form sent to agents.
func (m *Maestro) Manifests(id string) []workv1.Manifest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[id].data.Manifests
}

// Version returns the version of a bundle.
func (m *Maestro) Version(id string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[id].version
}

// Silence turns the events of Maestro off or on.
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

// Backup returns a copy of the database.
func (m *Maestro) Backup() Backup {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Backup{maps.Clone(m.rows)}
}

// Restore replaces the database by a backup, without an event.
func (m *Maestro) Restore(backup Backup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = maps.Clone(backup.rows)
}

// Tells sets the feedback in the agent's reports from now on: the resourceVersion of the Application guestbook, and the
// start of the Application's last operation. The agent reports on the bundle at once.
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

// Report makes the agent report the present bundle as applied. Report sends Maestro's event about the report to the
// subscribers, and returns the event. Like the agent of Open Cluster Management 1.2.0, the agent applies a bundle only
// after a change of the manifests or the labels. Without such a change, the report still names the last applied
// version.
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

// HasApplied tells whether the agent has applied the present spec of a bundle.
func (m *Maestro) HasApplied(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.applied[id]
	return ok && apiequality.Semantic.DeepEqual(last.data, m.rows[id].data)
}

// Removed makes the agent report a bundle as removed. Maestro removes the bundle. Removed sends Maestro's event about
// the removal to the subscribers, and returns the event.
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

// Drop removes a bundle without an event. Maestro does the same with a bundle unknown to all agents.
func (m *Maestro) Drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, id)
	delete(m.applied, id)
}

// Tell makes Maestro send an event, for example a second time.
func (m *Maestro) Tell(event *cloudevents.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tell(event)
}

// tell sends an event to all subscribers. The caller holds the lock.
func (m *Maestro) tell(event *cloudevents.Event) {
	if m.silent {
		return
	}
	for _, events := range m.listeners {
		events <- event
	}
}

// labels returns the labels in the bundle's metadata.
func (r row) labels() map[string]string {
	var meta metav1.ObjectMeta
	_ = json.Unmarshal([]byte(r.metadata), &meta) // No agent would accept a bundle without labels.
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
	data, _ := json.Marshal(payload.ManifestBundleStatus{ // The encoding cannot fail.
		Conditions: r.status.Conditions, ResourceStatus: r.status.ResourceStatus.Manifests,
	})
	_ = event.SetData(cloudevents.ApplicationJSON, data)
	return &event
}
