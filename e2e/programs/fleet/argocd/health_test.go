// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

// regional returns Argo CD's settings from deploy/argocd-health: the health checks of objects, and the ignored changes.
func regional(t *testing.T) (overrides, ignored map[string]v1alpha1.ResourceOverride) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "deploy/argocd-health/argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{}
	if err := yaml.UnmarshalStrict(data, config); err != nil {
		t.Fatal(err)
	}
	config.Namespace, config.Labels = "argocd", map[string]string{"app.kubernetes.io/part-of": "argocd"}
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name, secret.Labels = config.Namespace, "argocd-secret", config.Labels
	manager := settings.NewSettingsManager(t.Context(), fake.NewSimpleClientset(config, secret), config.Namespace)
	if overrides, err = manager.GetResourceOverrides(); err != nil {
		t.Fatal(err)
	}
	if ignored, err = manager.GetIgnoreResourceUpdatesOverrides(); err != nil {
		t.Fatal(err)
	}
	return overrides, ignored
}

// state returns a report of Towline, from a golden file of pkg/report.
func state(t *testing.T, title string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pkg/report/testdata/state-"+title+".golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return object(t, string(data))
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// narrow returns the report with only the fields in the CRD of other products.
func narrow(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "status")
	for _, field := range []string{"applications", "unreachable", "notCompared", "omitted", "omittedResources"} {
		unstructured.RemoveNestedField(o.Object, "statuses", "summary", field)
	}
	return o
}

// found returns the health from Argo CD.
func found(t *testing.T, overrides map[string]v1alpha1.ResourceOverride, o *unstructured.Unstructured) health.HealthStatus {
	t.Helper()
	got, err := health.GetResourceHealth(o, lua.ResourceHealthOverrides(overrides))
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		t.Fatalf("Argo CD has no health check for %s", o.GetKind())
	}
	return *got
}

// TestHealthOfAReport: the health of each state of a report by Argo CD's own Lua engine.
func TestHealthOfAReport(t *testing.T) {
	overrides, _ := regional(t)
	for title, want := range map[string]health.HealthStatus{
		"healthy":      {Status: health.HealthStatusHealthy, Message: "2 of 2 Applications healthy"},
		"empty":        {Status: health.HealthStatusHealthy, Message: "the ApplicationSet has no Applications"},
		"unreported":   {Status: health.HealthStatusProgressing, Message: "1 of 2 Applications healthy, 1 not synced"},
		"progressing":  {Status: health.HealthStatusProgressing, Message: "1 of 2 Applications healthy, 1 progressing"},
		"not-synced":   {Status: health.HealthStatusProgressing, Message: "2 of 2 Applications healthy, 1 not synced"},
		"suspended":    {Status: health.HealthStatusSuspended, Message: "1 of 2 Applications healthy, 1 suspended"},
		"degraded":     {Status: health.HealthStatusDegraded, Message: "2 of 4 Applications healthy, 1 failing, 1 not heard of, 1 progressing; see broken"},
		"blocked":      {Status: health.HealthStatusDegraded, Message: "1 of 2 Applications healthy, 1 failing, 1 not synced"},
		"unreachable":  {Status: health.HealthStatusUnknown, Message: "2 of 3 Applications healthy, 1 not heard of, 1 progressing; see away"},
		"not-compared": {Status: health.HealthStatusUnknown, Message: "2 of 2 Applications healthy, 1 not heard of; see idle"},
		"truncated":    {Status: health.HealthStatusProgressing, Message: "480 of 500 Applications healthy, 20 progressing"},
	} {
		t.Run(title, func(t *testing.T) {
			report := state(t, title)
			if got := found(t, overrides, report); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if got := found(t, overrides, narrow(report)); got != want {
				t.Errorf("with a narrower CRD: got %+v, want %+v", got, want)
			}
		})
	}
}

// TestHealthOfAReportInGit: a report without content from Towline is not healthy.
func TestHealthOfAReportInGit(t *testing.T) {
	overrides, _ := regional(t)
	got := found(t, overrides, object(t, "{apiVersion: apps.open-cluster-management.io/v1alpha1, kind: MulticlusterApplicationSetReport, metadata: {name: a}}"))
	if got.Status != health.HealthStatusProgressing {
		t.Errorf("got %+v", got)
	}
}

// TestHealthOfAnApplicationSet: the health tells whether the ApplicationSet controller has created the Applications.
func TestHealthOfAnApplicationSet(t *testing.T) {
	overrides, _ := regional(t)
	for title, tc := range map[string]struct {
		conditions string
		want       health.HealthStatusCode
	}{
		"new":     {"", health.HealthStatusProgressing},
		"made":    {"{type: ErrorOccurred, status: 'False'}, {type: ResourcesUpToDate, status: 'True'}", health.HealthStatusHealthy},
		"rolling": {"{type: ResourcesUpToDate, status: 'True'}, {type: RolloutProgressing, status: 'True'}", health.HealthStatusProgressing},
		"rolled":  {"{type: ResourcesUpToDate, status: 'True'}, {type: RolloutProgressing, status: 'False'}", health.HealthStatusHealthy},
		"failed":  {"{type: ResourcesUpToDate, status: 'True'}, {type: ErrorOccurred, status: 'True', message: no}", health.HealthStatusDegraded},
		"not made": {
			"{type: ErrorOccurred, status: 'False'}, {type: ResourcesUpToDate, status: 'False', message: no}", health.HealthStatusDegraded},
	} {
		t.Run(title, func(t *testing.T) {
			set := object(t, "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: a}, status: {conditions: ["+tc.conditions+"]}}")
			if got := found(t, overrides, set); got.Status != tc.want {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
}

// TestHealthOfAChild: an app of apps is as healthy as its children, and a child with an unreadable source is not
// healthy.
func TestHealthOfAChild(t *testing.T) {
	overrides, _ := regional(t)
	for title, tc := range map[string]struct {
		status string
		want   health.HealthStatus
	}{
		"new":         {"", health.HealthStatus{Status: health.HealthStatusProgressing, Message: "Argo CD has not compared the Application yet"}},
		"healthy":     {"health: {status: Healthy}, sync: {status: Synced}", health.HealthStatus{Status: health.HealthStatusHealthy}},
		"degraded":    {"health: {status: Degraded, message: down}", health.HealthStatus{Status: health.HealthStatusDegraded, Message: "down"}},
		"progressing": {"health: {status: Progressing}", health.HealthStatus{Status: health.HealthStatusProgressing}},
		"without its source": {
			"health: {status: Healthy}, sync: {status: Unknown}, conditions: [{type: ComparisonError, message: no such revision}]",
			health.HealthStatus{Status: health.HealthStatusDegraded, Message: "ComparisonError: no such revision"},
		},
		"with a warning": {
			"health: {status: Healthy}, conditions: [{type: RepeatedResourceWarning, message: twice}]", health.HealthStatus{Status: health.HealthStatusHealthy},
		},
		"not delivered": {
			"health: {status: Healthy}, conditions: [{type: PropagationForbiddenError, message: no binding}]",
			health.HealthStatus{Status: health.HealthStatusDegraded, Message: "PropagationForbiddenError: no binding"},
		},
		"not synced": {
			"health: {status: Healthy}, sync: {status: OutOfSync}, operationState: {phase: Failed, message: no such kind}",
			health.HealthStatus{Status: health.HealthStatusDegraded, Message: "no such kind"},
		},
		"synced since": {
			"health: {status: Healthy}, sync: {status: Synced}, operationState: {phase: Failed, message: no such kind}",
			health.HealthStatus{Status: health.HealthStatusHealthy},
		},
	} {
		t.Run(title, func(t *testing.T) {
			child := object(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, status: {"+tc.status+"}}")
			if got := found(t, overrides, child); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestReportChangesThatAreIgnored: Argo CD compares again after a change of the counts, and not after a change of a
// row.
func TestReportChangesThatAreIgnored(t *testing.T) {
	_, ignored := regional(t)
	got := ignored["apps.open-cluster-management.io/MulticlusterApplicationSetReport"].IgnoreDifferences.JSONPointers
	for _, pointer := range got {
		if pointer == "/statuses" || pointer == "/statuses/summary" {
			t.Errorf("Argo CD would not see the counts: %v", got)
		}
	}
	if len(got) == 0 {
		t.Error("Argo CD would compare for every row")
	}
}
