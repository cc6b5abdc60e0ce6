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
	// Namespace and Name name it on the hub.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// Set is the name of its ApplicationSet, in the same namespace; empty for none.
	Set string `json:"applicationSet,omitempty"`

	// Cluster is its managed cluster; empty where it names none.
	Cluster string `json:"cluster,omitempty"`

	// Sync, Health and Operation are in Argo CD's words; empty while the cluster has not said.
	Sync      string `json:"sync,omitempty"`
	Health    string `json:"health,omitempty"`
	Operation string `json:"operation,omitempty"`

	// Revision is what the cluster was compared with; those of several sources have commas between them.
	Revision string `json:"revision,omitempty"`

	// Heard is when the cluster last said something of it, as far as that is known; nil where it is not.
	Heard *time.Time `json:"lastHeard,omitempty"`

	// State is how it stands, as pkg/why has it, by what its status says: OK, Waiting or Blocked.
	State why.State `json:"state"`

	// Link is the link of its way where it waits or is stopped, Reason the condition or code that says so, and Message what is
	// wrong. They are empty where nothing is.
	Link    string `json:"link,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ID is "<namespace>/<name>" of the Application.
func (r *Row) ID() string { return r.Namespace + "/" + r.Name }

// OfApplication is the row of an Application, by what its status says.
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

// Because is why something is not well, in one text: a message that begins with its reason, as Beside has it, does not say it twice.
func Because(reason, message string) string {
	switch {
	case reason == "" || Beside(reason, message) != message:
		return message
	case message == "":
		return reason
	}
	return reason + ": " + message
}

// Beside is a message without the reason that it begins with, for where that is shown already.
func Beside(reason, message string) string {
	rest, begins := strings.CutPrefix(message, reason)
	switch {
	case reason == "" || !begins:
		return message
	case rest == "":
		return ""
	case rest[0] == ':' || rest[0] == ';':
		return strings.TrimLeft(rest, ":; ")
	}
	return message // its first word only begins like the reason
}

// heard is the latest time that a status tells of.
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

// later is the later one of two times, each of which may be nil.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// OfReport is the row of an Application by a row of the report of its ApplicationSet. The reason is that of pkg/why: both rows of an
// Application say the same.
func OfReport(set string, row *v1alpha1.ClusterCondition) Row {
	app := &argocd.Application{}
	parts := strings.Split(row.App, "/")
	if len(parts) > 1 {
		app.Namespace, app.Name = parts[0], parts[1]
	}
	app.Labels = map[string]string{apis.LabelPull: "true"} // the report has no others
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

// onApplication is the type on an Application of a condition that its row in a report has.
func onApplication(row string) string {
	for _, r := range apis.ConditionRules {
		if r.Row == row {
			return r.Type
		}
	}
	return row
}

// ranks are the states, the one that needs the most attention first.
var ranks = []why.State{why.Blocked, why.Waiting, why.Unknown, why.OK}

// Worst is the state of two that needs more attention. An empty one is none.
func Worst(a, b why.State) why.State {
	if a == "" || b != "" && slices.Index(ranks, b) < slices.Index(ranks, a) {
		return b
	}
	return a
}

// Sort puts rows in order: by namespace, set, cluster and name.
func Sort(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Set, b.Set), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
}

// SortWorst puts rows in order: those that need the most attention first, and among their like as Sort does.
func SortWorst(rows []Row) {
	Sort(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(slices.Index(ranks, a.State), slices.Index(ranks, b.State)) })
}

// Problems are the rows of Applications that are not well.
func Problems(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.State == why.OK })
}
