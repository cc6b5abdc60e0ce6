package aggregation

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// schema knows whether the hub's CRD of reports is the narrower CRD from a different product. The zero value does not
// know.
type schema struct {
	mu            sync.Mutex
	known, narrow bool

	// replaced counts the possible replacements of the CRD.
	replaced int
}

// forget makes the schema unknown. Towline does not repeat an event about a narrow CRD.
func (s *schema) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
	s.replaced++
}

// times returns the number of calls of forget.
func (s *schema) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaced
}

// learn notes whether the API server has kept the conditions of a report. It returns true the first time that the API
// server has dropped the conditions.
func (s *schema) learn(got *v1alpha1.MulticlusterApplicationSetReport) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	narrow := len(got.Status.Conditions) == 0
	news = narrow && !s.narrow
	s.known, s.narrow = true, narrow
	return news
}

// state returns whether the CRD is narrow, and whether the answer is known.
func (s *schema) state() (narrow, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.narrow && s.known, s.known
}

// sameOnceDropped reports whether a report equals the desired report after the hub's CRD has dropped fields. If the CRD
// is unknown, a dry run asks the API server once.
func (r *Reconciler) sameOnceDropped(ctx context.Context, desired *v1alpha1.MulticlusterApplicationSetReport, before *published) (bool, error) {
	narrow, known := r.schema.state()
	if !before.exists() || known && !narrow || before.cut != report.DigestOf(report.Published(desired)) {
		return false, nil
	}
	if known {
		return true, nil
	}
	trial := desired.DeepCopy()
	report.Over(trial, &before.meta)
	if err := r.Update(ctx, trial, client.DryRunAll); err != nil {
		return false, err
	}
	r.noteSchema(trial)
	narrow, _ = r.schema.state()
	return narrow, nil
}

// noteSchema learns from a report returned by the API server, and records one event about the fields that the CRD
// drops.
func (r *Reconciler) noteSchema(got *v1alpha1.MulticlusterApplicationSetReport) {
	if !r.schema.learn(got) {
		return
	}
	r.Events.Eventf(got, nil, corev1.EventTypeWarning, apis.ReasonSchemaNarrow, "Report", "%s",
		"another product installed the hub's CRD of MulticlusterApplicationSetReport, which has no status.conditions: kubectl wait does not "+
			"return for any report, and fields that this CRD lacks are not shown. Instead, wait for a value of statuses.summary")
}
