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
	// Namespace and Name identify the ApplicationSet.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// Rows are the Applications, the most urgent first. Omitted is the number of further Applications, the least
	// urgent.
	Rows    []Row `json:"rows"`
	Omitted int   `json:"omitted,omitempty"`

	// Counts count the Applications in Rows by state. Applications, Synced, Healthy and Unreachable count all
	// Applications.
	Counts       Counts `json:"counts"`
	Applications int    `json:"applications"`
	Synced       int    `json:"synced"`
	Healthy      int    `json:"healthy"`
	Unreachable  int    `json:"unreachable"`

	// State is OK if all Applications are as desired. Reason and Message come from the report's condition Ready, if
	// present.
	State   why.State `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`

	// Waves are the steps of a rollout in order; empty for an ApplicationSet without a stepwise rollout.
	Waves []Wave `json:"waves,omitempty"`
}

// SetOfReport returns an ApplicationSet from its report.
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

// hasError returns whether an error blocks a row. A report is Ready by health and sync status, but an error may be
// older or newer than both. A paused Application is as desired.
func hasError(r Row) bool { return r.State == why.Blocked && strings.HasSuffix(r.Reason, "Error") }

// SetOfApplications returns an ApplicationSet from its Applications, for a set without a report.
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

// finish sets the fields derived from the rows.
func (s *Set) finish() {
	SortWorst(s.Rows)
	s.Counts = CountsOf(s.Rows)
	s.Applications = len(s.Rows) + s.Omitted
	s.State = cmp.Or(s.Counts.State(), why.OK)
}

// Of returns whether an Application belongs to the ApplicationSet with the given namespace and name.
func Of(app *argocd.Application, namespace, name string) bool {
	set, ok := app.ApplicationSet()
	return ok && set == name && app.Namespace == namespace
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0 // as for a report without the count
	}
	return n
}

// outOfSync is the reason of a row whose cluster differs from Git.
const outOfSync = "OutOfSync"

// Step is the progress of one Application in a stepwise rollout: an entry of the ApplicationSet's
// status.applicationStatus (Argo CD 2.14 to 3.5).
type Step struct {
	// Application is the name of the Application.
	Application string `json:"application"`

	// Step is the Application's step, from 1.
	Step string `json:"step"`

	// Status is Waiting, Pending, Progressing or Healthy.
	Status string `json:"status"`

	// Message is Argo CD's description of the progress.
	Message string `json:"message"`
}

// Wave is one step of a rollout.
type Wave struct {
	// Step is the number of the step, from 1. Argo CD uses -1 for Applications that no step selects.
	Step int `json:"step"`

	// Applications is the number of Applications in the step. Healthy, Progressing, Pending and Waiting count the
	// Applications by progress.
	Applications int `json:"applications"`
	Healthy      int `json:"healthy"`
	Progressing  int `json:"progressing"`
	Pending      int `json:"pending"`
	Waiting      int `json:"waiting"`
}

// RollOut adds the steps of a rollout. An Application before its step waits and is not blocked. Until all steps are
// done, the set is Waiting or worse.
func (s *Set) RollOut(steps []Step) {
	s.Waves = waves(steps)
	s.await(steps)
	if slices.ContainsFunc(s.Waves, func(w Wave) bool { return w.Healthy < w.Applications }) {
		s.State = Worst(s.State, why.Waiting)
	}
}

// await sets rows before their step to Waiting.
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

// waves returns the steps of a rollout, sorted by number.
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
