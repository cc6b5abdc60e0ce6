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

// Observation is the trustworthy content of a report.
type Observation struct {
	// Status has the reported and valid values; a zero field was not reported or not valid. Of several conditions with
	// the same type, Status has the first, as in pkg/feedback.
	Status argocd.Status

	// UID and Version are the UID and the resourceVersion of the Application on its cluster.
	UID, Version string

	// ObservedAt is the time of the agent's observation.
	ObservedAt metav1.Time

	// NotComparedSince is the last comparison by the cluster's Argo CD, or the creation of an Application without any
	// comparison. NotComparedSince is zero while Argo CD compares in time.
	NotComparedSince metav1.Time

	// Complete is true if all fields were readable and valid, and no condition was truncated. Then a value missing in
	// Status is also missing on the cluster.
	Complete bool

	// Detailed is true if the resources and the summary are complete, except for the parts that Truncated counts.
	Detailed bool

	// Truncated counts the parts dropped by the agent or by the hub; nil for a whole report.
	Truncated *v1alpha1.Truncated

	// Rejected are the names of the fields with an invalid value, sorted.
	Rejected []string
}

// Empty returns whether the report has neither a status of the Application nor a NotComparedSince.
func (o *Observation) Empty() bool {
	s := &o.Status
	return o.NotComparedSince.IsZero() && s.Health.Status == "" && s.Sync == nil && s.OperationState == nil && s.ReconciledAt == "" &&
		len(s.Conditions) == 0 && len(s.Resources) == 0
}

// Read returns the trustworthy content of a report on the Application key. A report on a different Application has no
// content.
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

// moment returns a time; zero for an empty or invalid time.
func (c *checker) moment(field, s string) metav1.Time {
	c.time(field, &s)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(t)
}

// firstOfEachType returns the conditions with types known from Argo CD, the first of each type, sorted. A cluster
// cannot set the conditions of the hub's controllers.
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
