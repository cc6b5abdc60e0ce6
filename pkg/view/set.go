package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// Set is one ApplicationSet and its Applications.
type Set struct {
	// Namespace and Name name it.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// Rows are its Applications, those that need the most attention first; Omitted is how many more there are, of those that need
	// the least.
	Rows    []Row `json:"rows"`
	Omitted int   `json:"omitted,omitempty"`

	// Counts count those in Rows by state. Applications, Synced, Healthy and Unreachable are counts of all.
	Counts       Counts `json:"counts"`
	Applications int    `json:"applications"`
	Synced       int    `json:"synced"`
	Healthy      int    `json:"healthy"`
	Unreachable  int    `json:"unreachable"`

	// State is OK where all are as they should be, Reason and Message those of the report's condition Ready where it has one.
	State   why.State `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`

	// Waves are the steps of a rollout in their order; empty where the ApplicationSet is not rolled out in steps.
	Waves []Wave `json:"waves,omitempty"`
}

// SetOfReport is an ApplicationSet by its report.
func SetOfReport(r *v1alpha1.MulticlusterApplicationSetReport) *Set {
	s := &Set{Namespace: r.Namespace, Name: r.Name, Rows: make([]Row, len(r.Statuses.ClusterConditions))}
	for i := range s.Rows {
		s.Rows[i] = OfReport(r.Name, &r.Statuses.ClusterConditions[i])
	}
	sum := &r.Statuses.Summary
	s.Omitted, s.Unreachable = number(sum.Omitted), number(sum.Unreachable)
	s.Synced, s.Healthy = number(sum.Synced), number(sum.Healthy)
	s.finish()
	if ready := meta.FindStatusCondition(r.Status.Conditions, apis.ConditionReady); ready != nil {
		s.Reason, s.Message = ready.Reason, ready.Message
		s.State = Worst(why.Waiting, s.State)
		if ready.Status == metav1.ConditionTrue && !slices.ContainsFunc(s.Rows, hasError) {
			s.State = why.OK
		}
	}
	return s
}

// hasError tells whether a row is stopped by an error. A report is Ready by health and sync status, which an error may outlive or
// come before; one whose Application is only paused is as it should be.
func hasError(r Row) bool { return r.State == why.Blocked && strings.HasSuffix(r.Reason, "Error") }

// SetOfApplications is an ApplicationSet by its Applications, as where it has no report.
func SetOfApplications(namespace, name string, rows []Row) *Set {
	s := &Set{Namespace: namespace, Name: name, Rows: rows}
	for i := range rows {
		if rows[i].Sync == "Synced" {
			s.Synced++
		}
		if rows[i].Health == "Healthy" {
			s.Healthy++
		}
		if rows[i].Reason == apis.ConditionClusterUnreachableWarning {
			s.Unreachable++
		}
	}
	s.finish()
	return s
}

// finish sets what follows from the rows.
func (s *Set) finish() {
	SortWorst(s.Rows)
	s.Counts = CountsOf(s.Rows)
	s.Applications = len(s.Rows) + s.Omitted
	s.State = cmp.Or(s.Counts.State(), why.OK)
}

// Of tells whether an Application is of the ApplicationSet of that namespace and name.
func Of(app *argocd.Application, namespace, name string) bool {
	set, ok := app.ApplicationSet()
	return ok && set == name && app.Namespace == namespace
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0 // as a report without that count
	}
	return n
}

// outOfSync is the reason of a row whose cluster does not have what Git has.
const outOfSync = "OutOfSync"

// Step is what an ApplicationSet says of one of its Applications while it rolls out in steps: an entry of
// status.applicationStatus (Argo CD 2.14 to 3.5).
type Step struct {
	// Application names it.
	Application string `json:"application"`

	// Step is its step, from 1.
	Step string `json:"step"`

	// Status is Waiting, Pending, Progressing or Healthy.
	Status string `json:"status"`

	// Message says what Argo CD does with it.
	Message string `json:"message"`
}

// Wave is one step of a rollout.
type Wave struct {
	// Step is its number, from 1. Applications that no step selects have -1 in Argo CD.
	Step int `json:"step"`

	// Applications is how many it has, and Healthy, Progressing, Pending and Waiting how many of those are so far.
	Applications int `json:"applications"`
	Healthy      int `json:"healthy"`
	Progressing  int `json:"progressing"`
	Pending      int `json:"pending"`
	Waiting      int `json:"waiting"`
}

// RollOut adds the steps of a rollout. An Application whose turn has not come is not stopped: it waits. Until all steps are done,
// something is under way.
func (s *Set) RollOut(steps []Step) {
	s.Waves = waves(steps)
	s.await(steps)
	if slices.ContainsFunc(s.Waves, func(w Wave) bool { return w.Healthy < w.Applications }) {
		s.State = Worst(s.State, why.Waiting)
	}
}

// await has those wait whose turn has not come.
func (s *Set) await(steps []Step) {
	turns := map[string]string{}
	for _, t := range steps {
		if t.Status == "Waiting" || t.Status == "Pending" {
			turns[t.Application] = t.Step
		}
	}
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Reason == outOfSync && turns[r.Name] != "" {
			r.State, r.Message = why.Waiting, "step "+turns[r.Name]+" of the rollout has not begun"
		}
	}
	SortWorst(s.Rows)
	if s.Counts = CountsOf(s.Rows); s.State != why.OK {
		s.State = Worst(why.Waiting, s.Counts.State())
	}
}

// waves are the steps of a rollout, in their order.
func waves(steps []Step) []Wave {
	var out []Wave
	for _, s := range steps {
		n := number(s.Step)
		i := slices.IndexFunc(out, func(w Wave) bool { return w.Step == n })
		if i < 0 {
			i, out = len(out), append(out, Wave{Step: n})
		}
		out[i].add(s.Status)
	}
	slices.SortFunc(out, func(a, b Wave) int { return cmp.Compare(a.Step, b.Step) })
	return out
}

func (w *Wave) add(status string) {
	w.Applications++
	switch status {
	case "Healthy":
		w.Healthy++
	case "Progressing":
		w.Progressing++
	case "Pending":
		w.Pending++
	default:
		w.Waiting++
	}
}
