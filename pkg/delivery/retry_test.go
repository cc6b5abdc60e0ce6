package delivery

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// TestARefusedRequest: a refused request is sent again. After a conflict of versions, the request waits for the
// next version of the cluster's Application. After another failure, the request waits a moment, because the failure
// is independent of the version.
func TestARefusedRequest(t *testing.T) {
	const (
		changed = `Failed to apply manifest: Operation cannot be fulfilled on applications.argoproj.io "guestbook": ` +
			"the object has been modified; please apply your changes to the latest version and try again"
		failed = "Failed to apply manifest: etcdserver: request timed out"
	)
	operation := func() *fixture.ApplicationBuilder { return app().Operation(asked1) }
	termination := func() *fixture.ApplicationBuilder { return app().Runs("Terminating", began) }
	running := []string{"operationStatePhase", "Running", "operationStateStartedAt", began}
	for title, tc := range map[string]struct {
		of      *fixture.ApplicationBuilder
		reports []string
		says    string
		again   bool
	}{
		"an operation, for an earlier version":  {operation(), nil, changed, false},
		"an operation, by a failing cluster":    {operation(), nil, failed, true},
		"a termination, for an earlier version": {termination(), running, changed, false},
		"a termination, by a failing cluster":   {termination(), running, failed, true},
	} {
		t.Run(title, func(t *testing.T) {
			cased[t.Name()] = true
			s := of(tc.of).own(t, reports("Healthy", tc.reports...))
			next := func() (Plan, *workv1.ManifestWork) {
				plan := Decide(s.Facts, s.Options)
				if len(plan.Steps) == 0 {
					return plan, nil
				}
				s.Own = plan.Steps[0].Work.DeepCopy()
				s.Own.Generation++
				return plan, s.Own
			}
			apply := reports("Healthy", tc.reports...)
			if _, w := next(); w == nil || !work.CarriesRequest(w) {
				t.Fatal("it was not sent")
			}
			apply(s.Own)
			unappliedFor(s.Own, tc.says)
			if _, w := next(); w == nil || work.CarriesRequest(w) {
				t.Fatal("the Application is not put back")
			}

			unappliedFor(s.Own, "Failed to apply manifest: connection refused")
			s.Now = now.Add(time.Hour)
			if plan, w := next(); w != nil {
				t.Fatalf("it is sent where nothing can be applied: %q", outline(&plan))
			}
			apply(s.Own)
			s.Now = now.Add(relay.RetryAfter - time.Second)
			plan, w := next()
			if w != nil {
				t.Fatalf("it is sent again at once: %q", outline(&plan))
			}
			if waits := plan.Wait.After == time.Second; waits != tc.again {
				t.Errorf("it waits for %s", plan.Wait.After)
			}
			s.Now = now.Add(relay.RetryAfter)
			plan, w = next()
			first := func() bool {
				return strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"resourceVersion":"1"`)
			}
			if sent := w != nil && work.CarriesRequest(w) && first(); sent != tc.again {
				t.Errorf("it is sent again: %t (%q)", sent, outline(&plan))
			}
			if tc.again {
				return
			}
			apply = reports("Healthy", append(slices.Clone(tc.reports), "resourceVersion", "2")...)
			apply(s.Own)
			if _, w := next(); w == nil || !strings.Contains(string(w.Spec.Workload.Manifests[0].Raw), `"resourceVersion":"2"`) {
				t.Error("it is not sent for the next version")
			}
		})
	}
}

// unappliedFor sets a failed apply of the current generation. The rest of the report stays.
func unappliedFor(w *workv1.ManifestWork, message string) {
	fixture.Report(w, w.Status)
	manifest := w.Status.ResourceStatus.Manifests[0].Conditions
	for _, conditions := range [][]metav1.Condition{w.Status.Conditions, manifest} {
		for i := range conditions {
			if conditions[i].Type == workv1.WorkApplied {
				conditions[i].Status, conditions[i].Message = metav1.ConditionFalse, message
			}
		}
	}
}

// TestARequestThatFailedAndIsWithdrawn: a request withdrawn after a failure leaves no wait.
func TestARequestThatFailedAndIsWithdrawn(t *testing.T) {
	memory := relay.Sent{State: relay.Failed, ID: "1-a", Version: "1", Digest: "d", Since: now}
	s := of(app().Reconciled(began)).own(t, sent(memory), reports("Healthy"))
	plan := Decide(s.Facts, s.Options)
	if len(plan.Steps) != 1 || plan.Steps[0].Work.Annotations[apis.AnnotationRequestSent] != "" || plan.Wait.After != 0 {
		t.Errorf("got %q", outline(&plan))
	}
}
