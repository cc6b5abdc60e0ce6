package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// Row is one Application.
type Row struct {
	// Namespace and Name identify the Application on the hub.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// Set is the name of the Application's ApplicationSet, in the same namespace; empty for none.
	Set string `json:"applicationSet,omitempty"`

	// Cluster is the managed cluster; empty if the Application names no cluster.
	Cluster string `json:"cluster,omitempty"`

	// Sync, Health and Operation are status codes of Argo CD; empty while the cluster has not reported.
	Sync      string `json:"sync,omitempty"`
	Health    string `json:"health,omitempty"`
	Operation string `json:"operation,omitempty"`

	// Revision is the compared revision. Revisions of several sources have commas in between.
	Revision string `json:"revision,omitempty"`

	// Heard is the last known time of a report about the Application from the cluster; nil if unknown.
	Heard *time.Time `json:"lastHeard,omitempty"`

	// State is the Application's state from pkg/why, based on its status: OK, Waiting or Blocked.
	State why.State `json:"state"`

	// Link is the link of the path where the Application waits or is blocked. Reason is the condition or code, and
	// Message the problem. All three are empty without a problem.
	Link    string `json:"link,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ID is "<namespace>/<name>" of the Application.
func (r *Row) ID() string { return r.Namespace + "/" + r.Name }

// OfApplication returns the row of an Application, from its status.
func OfApplication(app *argocd.Application) Row {
	set, _ := app.ApplicationSet()
	s := &app.Status
	r := Row{
		Namespace: app.Namespace, Name: app.Name, Set: set, Cluster: app.Cluster(), Health: s.Health.Status, Heard: heard(s), State: why.OK,
	}
	if s.Sync != nil {
		r.Sync, r.Revision = s.Sync.Status, cmp.Or(s.Sync.Revision, strings.Join(s.Sync.Revisions, ","))
	}
	if s.OperationState != nil {
		r.Operation = s.OperationState.Phase
	}
	if b := why.Of(&why.Facts{App: app, WorkUnread: true}).Broken(); b != nil {
		r.State, r.Link, r.Reason, r.Message = b.State, b.Name, b.Reason, b.Message
	}
	return r
}

// WithReason joins a reason and a message. If the message begins with the reason, as WithoutReason expects, the reason is not
// repeated.
func WithReason(reason, message string) string {
	switch {
	case reason == "" || WithoutReason(reason, message) != message:
		return message
	case message == "":
		return reason
	}
	return reason + ": " + message
}

// WithoutReason returns the message without its leading reason, for places that already show the reason.
func WithoutReason(reason, message string) string {
	rest, begins := strings.CutPrefix(message, reason)
	switch {
	case reason == "" || !begins:
		return message
	case rest == "":
		return ""
	case rest[0] == ':' || rest[0] == ';':
		return strings.TrimLeft(rest, ":; ")
	}
	return message // the first word is longer than the reason
}

// heard returns the latest time in a status.
func heard(s *argocd.Status) *time.Time {
	var out *time.Time
	times := []string{s.ReconciledAt}
	if o := s.OperationState; o != nil {
		times = append(times, o.StartedAt, o.FinishedAt)
	}
	for _, text := range times {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			out = later(out, &t)
		}
	}
	return out
}

// later returns the later of two times. Each may be nil.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// OfReport returns the row of an Application from its row in the report of its ApplicationSet. The reason comes from
// pkg/why, so both rows of an Application agree.
func OfReport(set string, row *v1alpha1.ClusterCondition) Row {
	app := &argocd.Application{}
	parts := strings.Split(row.App, "/")
	if len(parts) > 1 {
		app.Namespace, app.Name = parts[0], parts[1]
	}
	app.Labels = map[string]string{apis.LabelPull: "true"} // a report has no Application without this label
	app.Annotations = map[string]string{apis.AnnotationCluster: row.Cluster}
	app.Status.Health.Status = row.HealthStatus
	if row.SyncStatus != "" {
		app.Status.Sync = &argocd.Sync{Status: row.SyncStatus, Revision: row.SyncRevision}
	}
	if row.OperationStatePhase != "" {
		app.Status.OperationState = &argocd.OperationState{Phase: row.OperationStatePhase, StartedAt: row.OperationStateStartedAt}
	}
	for _, c := range row.Conditions {
		app.Status.Conditions = append(app.Status.Conditions, argocd.Condition{Type: onApplication(c.Type), Message: c.Message})
	}
	out := OfApplication(app)
	out.Set = set
	if !row.ObservedAt.IsZero() {
		out.Heard = later(out.Heard, &row.ObservedAt.Time)
	}
	return out
}

// onApplication returns the condition type on an Application for the condition type in a report's row.
func onApplication(row string) string {
	for _, r := range apis.ConditionRules {
		if r.Row == row {
			return r.Type
		}
	}
	return row
}

// ranks are the states, the most urgent first.
var ranks = []why.State{why.Blocked, why.Waiting, why.Unknown, why.OK}

// Worst returns the more urgent of two states. An empty state does not count.
func Worst(a, b why.State) why.State {
	if a == "" || b != "" && slices.Index(ranks, b) < slices.Index(ranks, a) {
		return b
	}
	return a
}

// Sort sorts rows by namespace, set, cluster and name.
func Sort(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Set, b.Set), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
}

// SortWorst sorts rows by urgency, the most urgent first. Rows with equal urgency are in the order of Sort.
func SortWorst(rows []Row) {
	Sort(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(slices.Index(ranks, a.State), slices.Index(ranks, b.State)) })
}

// Problems returns the rows of Applications with problems.
func Problems(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.State == why.OK })
}
