// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"
)

const root = "../../../.."

// manifestWork is the tested part of a golden file.
type manifestWork struct {
	Spec struct {
		Workload struct {
			Manifests []json.RawMessage `json:"manifests"`
		} `json:"workload"`
		ManifestConfigs []struct {
			FeedbackRules []struct {
				JSONPaths []struct {
					Name string `json:"name"`
					Path string `json:"path"`
				} `json:"jsonPaths"`
			} `json:"feedbackRules"`
		} `json:"manifestConfigs"`
	} `json:"spec"`
}

func golden(t *testing.T, name string) manifestWork {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pkg/work/testdata", name+".golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var w manifestWork
	if err := yaml.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// application decodes the payload of a golden work into Argo CD's type, and fails on an unknown field.
func application(t *testing.T, name string) *v1alpha1.Application {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(golden(t, name).Spec.Workload.Manifests[0]))
	dec.DisallowUnknownFields()
	app := &v1alpha1.Application{}
	if err := dec.Decode(app); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return app
}

func TestArgoCDReadsThePayload(t *testing.T) {
	app := application(t, "applicationset")
	if app.Spec.Destination.Server != v1alpha1.KubernetesInternalAPIServerAddr || app.Spec.Destination.Name != "" {
		t.Errorf("destination %+v is not the cluster itself", app.Spec.Destination)
	}
	if !app.CascadedDeletion() {
		t.Error("Argo CD sees no cascade")
	}
	if app.Annotations[common.AnnotationKeyAppSkipReconcile] != "" {
		t.Error("the cluster's Argo CD would skip the Application")
	}
	if _, refreshes := app.IsRefreshRequested(); refreshes {
		t.Error("a refresh travels with the payload")
	}
	if sources := application(t, "multi-source").Spec.GetSources(); len(sources) != 3 {
		t.Errorf("%d sources", len(sources))
	}
}

// source returns the text of a Go file of the root module.
func source(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// constants returns the string constants of a Go file, by name.
func constants(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:const )?(\w+)\s*=\s*"([^"]+)"$`).FindAllStringSubmatch(source(t, path), -1) {
		out[m[1]] = m[2]
	}
	return out
}

func TestKeysAreArgoCDs(t *testing.T) {
	keys := constants(t, "pkg/apis/keys.go")
	wanted := map[string]string{
		"AnnotationSkipReconcile":  common.AnnotationKeyAppSkipReconcile,
		"AnnotationRefresh":        v1alpha1.AnnotationKeyRefresh,
		"AnnotationHydrate":        v1alpha1.AnnotationKeyHydrate,
		"AnnotationTrackingID":     common.AnnotationKeyAppInstance,
		"AnnotationInstallationID": common.AnnotationInstallationID,
		"LabelInstance":            common.LabelKeyAppInstance,
		"LabelInstanceLegacy":      common.LabelKeyLegacyApplicationName,
		"FinalizerResources":       v1alpha1.ResourcesFinalizerName,
		"FinalizerPostDelete":      v1alpha1.PostDeleteFinalizerName,
		"InClusterServer":          v1alpha1.KubernetesInternalAPIServerAddr,
	}
	maps.Copy(wanted, moreKeys)
	for name, want := range wanted {
		if keys[name] != want {
			t.Errorf("%s is %q, Argo CD says %q", name, keys[name], want)
		}
	}
}

// list returns a list of strings in a Go file.
func list(t *testing.T, path, name string) []string {
	t.Helper()
	m := regexp.MustCompile(name + ` = \[\]string\{([^}]*)\}`).FindStringSubmatch(source(t, path))
	if m == nil {
		t.Fatalf("%s has no %s", path, name)
	}
	var out []string
	for _, quoted := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(m[1], -1) {
		out = append(out, quoted[1])
	}
	return out
}

func TestCodesAreArgoCDs(t *testing.T) {
	same(t, "health codes", list(t, "pkg/apis/argocd/status.go", "HealthCodes"), []string{
		string(health.HealthStatusHealthy), string(health.HealthStatusProgressing), string(health.HealthStatusDegraded),
		string(health.HealthStatusSuspended), string(health.HealthStatusMissing), string(health.HealthStatusUnknown),
	})
	same(t, "sync codes", list(t, "pkg/apis/argocd/status.go", "SyncCodes"), []string{
		string(v1alpha1.SyncStatusCodeSynced), string(v1alpha1.SyncStatusCodeOutOfSync), string(v1alpha1.SyncStatusCodeUnknown),
	})
	same(t, "operation phases", list(t, "pkg/apis/argocd/status.go", "OperationPhases"), []string{
		string(synccommon.OperationRunning), string(synccommon.OperationTerminating), string(synccommon.OperationSucceeded),
		string(synccommon.OperationFailed), string(synccommon.OperationError),
	})
	same(t, "condition types", list(t, "pkg/feedback/rules.go", "ConditionTypes"), []string{
		v1alpha1.ApplicationConditionDeletionError, v1alpha1.ApplicationConditionInvalidSpecError,
		v1alpha1.ApplicationConditionComparisonError, v1alpha1.ApplicationConditionSyncError,
		v1alpha1.ApplicationConditionUnknownError, v1alpha1.ApplicationConditionSharedResourceWarning,
		v1alpha1.ApplicationConditionRepeatedResourceWarning, v1alpha1.ApplicationConditionExcludedResourceWarning,
		v1alpha1.ApplicationConditionOrphanedResourceWarning,
	})
}

// same compares two sets.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	seen := map[string]int{}
	for _, s := range got {
		seen[s]++
	}
	for _, s := range want {
		seen[s]--
	}
	for s, n := range seen {
		if n > 0 {
			t.Errorf("%s: %q is not Argo CD's", what, s)
		} else if n < 0 {
			t.Errorf("%s: %q of Argo CD is missing", what, s)
		}
	}
}

// TestConditionsOfTowline: Argo CD recognizes an error or a warning by the suffix of its type, and shows only errors
// and warnings.
func TestConditionsOfTowline(t *testing.T) {
	found := constants(t, "pkg/apis/conditions.go")
	if len(found) < 3 {
		t.Fatalf("found only %v", found)
	}
	delete(found, "ConditionAdditionalStatusReport") // a condition of an older controller; Towline removes the condition
	for name, value := range found {
		c := v1alpha1.ApplicationCondition{Type: value}
		if !c.IsError() && !strings.HasSuffix(value, "Warning") {
			t.Errorf("%s %q is neither an error nor a warning to Argo CD", name, value)
		}
	}
}
