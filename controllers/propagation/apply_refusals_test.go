package propagation

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// lasts is how long a write must fail before the Application shows the failure.
const lasts = transientErrorWindow

var (
	aWork     = schema.GroupResource{Resource: "manifestworks"}
	forbidden = apierrors.NewForbidden(aWork, "x", nil)
)

// recorder remembers the recorded events.
type recorder struct{ told []string }

// Eventf implements EventRecorder.
func (r *recorder) Eventf(on, related runtime.Object, kind, reason, _, note string, args ...any) {
	name := func(o runtime.Object) string {
		if o == nil {
			return "nothing"
		}
		return o.(client.Object).GetNamespace()
	}
	r.told = append(r.told, fmt.Sprintf("%s %s on %s with %s: %s", kind, reason, name(on), name(related), fmt.Sprintf(note, args...)))
}

func reconcilerOf(answers map[string]error) (*Reconciler, *recorder, *observation) {
	told := &recorder{}
	hub := &fixture.Hub{Name: clusterOf, Answers: answers}
	seen := &observation{live: noWorks{}, reader: noWorks{}, cache: noWorks{}}
	seen.App, seen.Presence = fixture.Application("guestbook").Obj(), delivery.Present
	seen.Key = client.ObjectKeyFromObject(seen.App)
	return &Reconciler{Client: hub, Events: told}, told, seen
}

// TestApplyEvents checks when events are recorded: the events of a step after its write, on the object of the event,
// and the events of the plan after the patch of the Application.
func TestApplyEvents(t *testing.T) {
	missing := apierrors.NewNotFound(aWork, "x")
	const ofStep, ofPlan = "Warning Gone on going with nothing: a", "Normal Sent on argocd with new: b"
	for title, tc := range map[string]struct {
		answers map[string]error
		want    []string
		asked   bool
	}{
		"every write succeeds":    {want: []string{ofStep, ofPlan}, asked: true},
		"the work is gone":        {answers: map[string]error{"going": missing}, want: []string{ofPlan}},
		"the Application is gone": {answers: map[string]error{"hub": missing}, want: []string{ofStep}, asked: true},
	} {
		r, told, seen := reconcilerOf(tc.answers)
		w := workOn("going")
		_, err := r.apply(t.Context(), seen, &delivery.Plan{
			Steps: []delivery.Step{{Write: work.Deletion(w), Revokes: true, Log: "Revoked",
				Events: []delivery.Event{{On: w, Warning: true, Reason: "Gone", Note: "a"}}}},
			Hub:    &argocd.Patch{Annotations: map[string]*string{apis.AnnotationRefresh: nil}},
			Events: []delivery.Event{{Related: workOn("new"), Reason: "Sent", Note: "b"}},
		})
		if err != nil || !slices.Equal(told.told, tc.want) {
			t.Errorf("%s: told %q, %v", title, told.told, err)
		}
		if _, asked := r.revocations.deleted[w.UID]; asked != tc.asked {
			t.Errorf("%s: the deletion counts: %t", title, asked)
		}
	}
}

// TestWriteRefusals: the Application shows a refusal only if the step has Rejects. All remaining failures are returned
// as errors.
func TestWriteRefusals(t *testing.T) {
	for title, tc := range map[string]struct {
		rejects        bool
		answer         error
		refused, fails bool
	}{
		"a step with Rejects is refused":    {rejects: true, answer: forbidden, refused: true},
		"a step without Rejects is refused": {answer: forbidden, fails: true},
		"another failure":                   {rejects: true, answer: errors.New("no"), fails: true},
		"a step without Rejects fails":      {answer: errors.New("no"), fails: true},
		"a step with Rejects succeeds":      {rejects: true},
		"a step without Rejects succeeds":   {},
	} {
		r, _, seen := reconcilerOf(map[string]error{"new": tc.answer})
		outcome, err := r.write(t.Context(), seen, &delivery.Step{Write: work.Creation(workOn("new")), Rejects: tc.rejects})
		refused, created := seen.Refusal != nil, len(r.uncached.of(seen.Key)) > 0
		if (err != nil) != tc.fails || refused != tc.refused || (outcome == loop.FactsChanged) != refused || created != (tc.answer == nil) {
			t.Errorf("%s: outcome %d, refusal %v, %v", title, outcome, seen.Refusal, err)
		}
	}
}

func TestRejection(t *testing.T) {
	terminating := apierrors.NewForbidden(aWork, "x", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for title, tc := range map[string]struct {
		err                 error
		rejected, namespace bool
	}{
		"none":                        {},
		"another failure":             {err: errors.New("no")},
		"a refusal":                   {err: forbidden, rejected: true},
		"no namespace":                {err: apierrors.NewNotFound(aWork, "x"), rejected: true, namespace: true},
		"a namespace that terminates": {err: terminating, rejected: true, namespace: true},
		"a conflict":                  {err: apierrors.NewConflict(aWork, "x", nil)},
	} {
		got := rejection(tc.err, workOn("c1"))
		if (got != nil) != tc.rejected || got != nil && (got.Namespace != tc.namespace || got.Message != tc.err.Error() || got.Key.Namespace != "c1") {
			t.Errorf("%s: %+v", title, got)
		}
	}
}

// TestRehearse: seen.Rehearsed is the refusal of the dry run, and all remaining failures are returned as errors.
func TestRehearse(t *testing.T) {
	for title, tc := range map[string]struct {
		answer         error
		spec           string
		refused, fails bool
	}{
		"accepted":                {},
		"the work exists already": {answer: apierrors.NewAlreadyExists(aWork, "x")},
		"refused":                 {answer: forbidden, refused: true},
		"the dry run fails":       {answer: errors.New("no"), fails: true},
		"no spec":                 {spec: "[]", fails: true},
	} {
		r, _, seen := reconcilerOf(map[string]error{"cluster1": tc.answer})
		if tc.spec != "" {
			seen.App.Spec.Raw = []byte(tc.spec)
		}
		err := r.rehearse(t.Context(), seen)
		asked := len(r.Client.(*fixture.Hub).Written) > 0
		if (err != nil) != tc.fails || (seen.Rehearsed != nil) != tc.refused || asked != (tc.spec == "") {
			t.Errorf("%s: %+v, %v, asked %t", title, seen.Rehearsed, err, asked)
		}
	}
}

// valueOf returns the value of a metric, or the number of samples of a histogram.
func valueOf(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue() + float64(out.GetHistogram().GetSampleCount())
}

// TestApplyNotes: a write is counted and timed, a blocked Application is counted, and Towline notices a restored hub by
// a lower resource version.
func TestApplyNotes(t *testing.T) {
	r, _, seen := reconcilerOf(nil)
	r.Live = noWorks{}
	seen.App.ResourceVersion, seen.since = "5", time.Now()
	writes, times := valueOf(t, workWrites.WithLabelValues("create")), valueOf(t, propagationTime)
	_, err := r.apply(t.Context(), seen, &delivery.Plan{
		Steps:      []delivery.Step{{Write: work.Creation(workOn("new"))}},
		Conditions: []delivery.Condition{{Type: apis.ConditionPropagationError, Reason: "OfThisTest"}},
	})
	if err != nil || valueOf(t, workWrites.WithLabelValues("create")) != writes+1 || valueOf(t, propagationTime) != times+1 {
		t.Errorf("a write is not counted, or not timed: %v", err)
	}
	if got := valueOf(t, blockedApplications.WithLabelValues("OfThisTest")); got != 1 {
		t.Errorf("%v Applications are blocked", got)
	}
	if !r.losses.restored {
		t.Error("a restored hub is not known")
	}
}
