package appreport

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// Observation is what a report says that can be believed.
type Observation struct {
	// Status holds what was reported and believed; the zero value of a field means that it was not. Of several
	// conditions of a type it has the first, as feedback does.
	Status argocd.Status

	// UID and Version are the UID and the resourceVersion of the Application on its cluster.
	UID, Version string

	// ObservedAt is when the agent saw it so.
	ObservedAt metav1.Time

	// NotComparedSince is when the cluster's Argo CD last compared the Application, or when that was created and never compared;
	// zero while it compares.
	NotComparedSince metav1.Time

	// Complete is set when everything could be read and fit: what Status does not have, the cluster's Application does
	// not have either.
	Complete bool

	// Detailed is set when that holds for the resources and the summary, but for what Truncated counts.
	Detailed bool

	// Truncated counts what the report, or the hub itself, left out; nil when it is whole.
	Truncated *v1alpha1.Truncated

	// Rejected names the fields that had a value which does not fit, sorted.
	Rejected []string
}

// Empty tells whether the report says nothing of the Application's status, nor that there is none for long.
func (o *Observation) Empty() bool {
	s := &o.Status
	return o.NotComparedSince.IsZero() && s.Health.Status == "" && s.Sync == nil && s.OperationState == nil && s.ReconciledAt == "" &&
		len(s.Conditions) == 0 && len(s.Resources) == 0
}

// Read is what can be believed of a report on the Application that key names on its cluster. A report on any other
// says nothing.
func Read(r *v1alpha1.ApplicationReport, key types.NamespacedName) Observation {
	if r.Application.Namespace != key.Namespace || r.Application.Name != key.Name {
		return Observation{Rejected: []string{fieldApplication}}
	}
	status := r.Status.DeepCopy()
	c := clean(status)
	o := Observation{UID: r.Application.UID, Version: r.Application.ResourceVersion, Truncated: r.Truncated}
	c.line(fieldApplication, &o.UID, feedback.MaxWord)
	c.revision(fieldApplication, &o.Version)
	o.ObservedAt = c.moment(fieldObservedAt, r.ObservedAt)
	o.NotComparedSince = c.moment(fieldNotCompared, r.NotComparedSince)
	var none []v1alpha1.TreeNode
	if cut := fit(status, &none, v1alpha1.MaxReportSize); cut != nil {
		o.Truncated = cut
	}
	status.Conditions = firstOfEachType(status.Conditions)
	o.Status, o.Rejected = *status, c.sorted()
	o.Detailed = !slices.ContainsFunc(r.Unreadable, func(field string) bool {
		return field == fieldResources || field == fieldSummary || field == fieldStatus
	})
	o.Complete = len(o.Rejected) == 0 && len(r.Unreadable) == 0 && (o.Truncated == nil || o.Truncated.Conditions == 0)
	return o
}

// moment is a time; zero for none, and for one that does not fit.
func (c *checker) moment(field, s string) metav1.Time {
	c.time(field, &s)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(t)
}

// firstOfEachType leaves the conditions that Argo CD is known to set, one of each type, sorted. A cluster cannot set
// those that the hub's controllers speak by.
func firstOfEachType(in []argocd.Condition) []argocd.Condition {
	var out []argocd.Condition
	for _, condition := range in {
		seen := slices.ContainsFunc(out, func(o argocd.Condition) bool { return o.Type == condition.Type })
		if !seen && slices.Contains(feedback.ConditionTypes, condition.Type) {
			out = append(out, condition)
		}
	}
	slices.SortFunc(out, func(a, b argocd.Condition) int { return strings.Compare(a.Type, b.Type) })
	return out
}
