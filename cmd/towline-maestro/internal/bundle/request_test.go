package bundle

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const operation = `{"info":[{"name":"apps.open-cluster-management.io/request","value":"1-a"}],"sync":{"revision":"abc"}}`

// asked returns Towline's manifest for a request.
func asked(version, request string) workv1.Manifest {
	return manifestOf([]byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"guestbook","namespace":"argocd",` +
		`"resourceVersion":"` + version + `"},` + request + `}`))
}

// ofTowline returns the bundle of a work with a ConfigMap and an Application. The agent has reported version 7 of the
// Application, and an operation begun at the time began.
func ofTowline(began string) *Bundle {
	app := workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "guestbook"}
	w := aWork(manifest("one", "x"), manifestOf([]byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",`+
		`"metadata":{"name":"guestbook","namespace":"argocd"},"spec":{"project":"default"}}`)))
	w.Spec.ManifestConfigs = append(w.Spec.ManifestConfigs, workv1.ManifestConfigOption{
		ResourceIdentifier: app,
		UpdateStrategy: &workv1.UpdateStrategy{
			Type: workv1.UpdateStrategyTypeServerSideApply,
			ServerSideApply: &workv1.ServerSideApplyConfig{
				Force: true, FieldManager: "work-agent-operation",
				IgnoreFields: []workv1.IgnoreField{{Condition: workv1.IgnoreFieldsConditionOnSpokeChange, JSONPaths: []string{".operation"}}},
			},
		},
	})
	values := []workv1.FeedbackValue{{Name: versionValue, Value: workv1.FieldValue{Type: workv1.String, String: ptr.To("7")}}}
	if began != "" {
		values = append(values, workv1.FeedbackValue{Name: startedValue, Value: workv1.FieldValue{Type: workv1.String, String: &began}})
	}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: app.Group, Resource: app.Resource, Namespace: app.Namespace, Name: app.Name},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
	}}
	return &Bundle{Work: w, First: 5000, Version: 5002, Since: 5000, Written: 5002}
}

// asks returns the work's next bundle, with a request in place of the Application.
func (b *Bundle) asks(request workv1.Manifest) (*Bundle, error) {
	w := b.Work.DeepCopy()
	w.Spec.Workload.Manifests[1] = request
	return b.Next(ids, w)
}

// TestAnOperation: agents get an operation without a resourceVersion, and with the start time of the last operation.
// The hub shows the manifest as written.
func TestAnOperation(t *testing.T) {
	const began = "2026-03-01T11:00:00Z"
	for name, tc := range map[string]struct{ began, operation, by, last string }{
		"after an earlier operation": {began, operation, `{"automated":false,"username":""}`, `{"startedAt":"` + began + `"}`},
		"the first":                  {"", operation, `{"automated":false,"username":""}`, `{"operation":{},"phase":"Error","startedAt":"` + Never + `"}`},
		"the first, repeated": {
			Never, operation, `{"automated":false,"username":""}`, `{"operation":{},"phase":"Error","startedAt":"` + Never + `"}`},
		"of a user": {
			began, `{"initiatedBy":{"username":"eve"}}`, `{"automated":false,"username":"eve"}`, `{"startedAt":"` + began + `"}`},
		"of the hub's Argo":         {began, `{"initiatedBy":{"automated":true}}`, `{"automated":true,"username":""}`, `{"startedAt":"` + began + `"}`},
		"with an invalid initiator": {began, `{"initiatedBy":"eve","sync":{}}`, `{"automated":false,"username":""}`, `{"startedAt":"` + began + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := ofTowline(tc.began).asks(asked("7", `"operation":`+tc.operation))
			if err != nil || !next.Requests() {
				t.Fatalf("%v, %t", err, next.Requests())
			}
			event, err := Event(source, cetypes.UpdateRequestAction, next)
			if err != nil {
				t.Fatal(err)
			}
			var got payload.ManifestBundle
			if err := json.Unmarshal(event.Data(), &got); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"guestbook",`+
				`"namespace":"argocd"},"operation":`+tc.operation+`,"status":{"operationState":`+tc.last+`}}`), &want); err != nil {
				t.Fatal(err)
			}
			var by any
			_ = json.Unmarshal([]byte(tc.by), &by)
			want["operation"].(map[string]any)["initiatedBy"] = by //nolint:forcetypeassert // it was just decoded
			var sent map[string]any
			if err := json.Unmarshal(raw(&got.Manifests[1]), &sent); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("the manifest (-want +got):\n%s", diff)
			}
			apply := got.ManifestConfigs[1].UpdateStrategy.ServerSideApply
			if diff := cmp.Diff(&workv1.ServerSideApplyConfig{FieldManager: "work-agent-operation"}, apply); diff != "" {
				t.Errorf("how it is applied (-want +got):\n%s", diff)
			}
			next.Work.Status = workv1.ManifestWorkStatus{}
			again, err := Read(kept(t, next, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(next, again, cmp.AllowUnexported(Bundle{})); diff != "" {
				t.Errorf("as it is read (-want +got):\n%s", diff)
			}
			if !again.WithVersion(5004).Requests() {
				t.Error("written again, it is another")
			}
			if back, err := next.Next(ids, ofTowline("").Work); err != nil || back.Requests() {
				t.Errorf("the Application has come back: %v, %t", err, back.Requests())
			}
		})
	}
}

// TestARequestThatCannotTravel: a client can repeat a request for an Application that has changed since, so the error
// is not a Refusal. The end of an operation can never be requested through Maestro, so the error is a Refusal.
func TestARequestThatCannotTravel(t *testing.T) {
	var refusal *Refusal
	if _, err := ofTowline("").asks(asked("6", `"operation":`+operation)); err == nil || errors.As(err, &refusal) {
		t.Errorf("for an earlier version: %v", err)
	}
	_, err := ofTowline("").asks(asked("7", `"status":{"operationState":{"phase":"Terminating"}}`))
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "Terminate the operation on the cluster") {
		t.Errorf("the end of an operation: %v", err)
	}
	// Towline passes these manifests on unchanged. Maestro refuses them with the reason.
	for _, m := range []workv1.Manifest{
		asked("7", `"spec":{}`), manifestOf([]byte(`{"apiVersion":"v1","kind":"Application","metadata":{"resourceVersion":"7"}}`)),
		manifestOf([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7"}}`)),
		manifestOf([]byte(`"resourceVersion"`)),
	} {
		if next, err := ofTowline("").asks(m); err != nil || next.Requests() {
			t.Errorf("%s: %v", m.Raw, err)
		}
	}
}

// TestFollowAnOperation: an earlier bundle of the work has the later bundle's manifest of the Application, also for
// agents.
func TestFollowAnOperation(t *testing.T) {
	earlier := ofTowline("")
	later := ofTowline("")
	later.Work.Spec.Workload.Manifests[0] = manifest("two", "x")
	later, err := later.asks(asked("7", `"operation":`+operation))
	if err != nil {
		t.Fatal(err)
	}
	got, changed := earlier.Follow(later)
	if !changed || !got.Requests() {
		t.Fatalf("%t, %t", changed, got.Requests())
	}
	if diff := cmp.Diff(later.sent().Workload.Manifests[1], got.sent().Workload.Manifests[1]); diff != "" {
		t.Errorf("(-later +earlier):\n%s", diff)
	}
	if back, _ := got.Follow(ofTowline("")); back.Requests() {
		t.Error("the Application has come back, and the earlier bundle still asks")
	}
}

func TestBegan(t *testing.T) {
	const began = "2026-03-01T11:00:00Z"
	if got := ofTowline(began).Began(); got != began {
		t.Errorf("%q", got)
	}
	for _, none := range []string{"", Never} {
		if got := ofTowline(none).Began(); got != "" {
			t.Errorf("%q", got)
		}
	}
}
