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

// schema is whether the hub's CRD of reports is the narrower one that other products bring. The zero value does not know.
type schema struct {
	mu            sync.Mutex
	known, narrow bool

	// replaced counts how often the CRD may have become another one.
	replaced int
}

// forget has the schema learned anew. What was said of it stays said.
func (s *schema) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
	s.replaced++
}

// times is how often it was forgotten.
func (s *schema) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaced
}

// learn notes what the API server made of a report that has conditions, and tells whether that is the first time that it dropped
// them.
func (s *schema) learn(got *v1alpha1.MulticlusterApplicationSetReport) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	narrow := len(got.Status.Conditions) == 0
	news = narrow && !s.narrow
	s.known, s.narrow = true, narrow
	return news
}

// says tells what is known.
func (s *schema) says() (narrow, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.narrow && s.known, s.known
}

// sameOnceDropped tells whether a report says all that the hub's CRD would keep of the desired one. Where it is not known which CRD
// that is the API server is asked, once, without a write.
func (r *Reconciler) sameOnceDropped(ctx context.Context, desired *v1alpha1.MulticlusterApplicationSetReport, before *published) (bool, error) {
	narrow, known := r.schema.says()
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
	narrow, _ = r.schema.says()
	return narrow, nil
}

// noteSchema learns from what the API server made of a report, and says once what cannot be shown.
func (r *Reconciler) noteSchema(got *v1alpha1.MulticlusterApplicationSetReport) {
	if !r.schema.learn(got) {
		return
	}
	r.Events.Eventf(got, nil, corev1.EventTypeWarning, apis.ReasonSchemaNarrow, "Report", "%s",
		"another product installed the hub's CRD of MulticlusterApplicationSetReport, which has no status.conditions: kubectl wait does not "+
			"return for any report, and fields that this CRD lacks are not shown. Wait for a value of statuses.summary instead")
}
