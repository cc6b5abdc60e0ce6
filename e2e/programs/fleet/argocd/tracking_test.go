// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/settings"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

// marks returns the keys of marks. Towline keeps marks on the hub.
func marks(t *testing.T) []string {
	t.Helper()
	list := regexp.MustCompile(`(?s)var marks = \[\]string\{(.*?)\}`).FindStringSubmatch(source(t, "pkg/apis/argocd/marks.go"))
	if list == nil {
		t.Fatal("there is no list of marks")
	}
	keys := constants(t, "pkg/apis/keys.go")
	var out []string
	for _, name := range regexp.MustCompile(`apis\.(\w+)`).FindAllStringSubmatch(list[1], -1) {
		out = append(out, keys[name[1]])
	}
	return out
}

// TestMarksAreArgoCDs: all marks that Argo CD sets on a deployed object stay on the hub. The marks of Argo CD's other
// controllers on an Application stay too.
func TestMarksAreArgoCDs(t *testing.T) {
	ours := marks(t)
	for _, method := range methods {
		for _, label := range []string{common.LabelKeyAppInstance, common.LabelKeyLegacyApplicationName} {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
			if err := argo.NewResourceTracking().SetAppInstance(obj, label, "apps", "argocd", method, "hub"); err != nil {
				t.Fatal(err)
			}
			set := slices.Concat(slices.Collect(maps.Keys(obj.GetLabels())), slices.Collect(maps.Keys(obj.GetAnnotations())))
			if len(set) == 0 {
				t.Errorf("tracking method %q sets nothing", method)
			}
			for _, key := range set {
				if !slices.Contains(ours, key) {
					t.Errorf("tracking method %q sets %s, which travels", method, key)
				}
			}
		}
	}
	for _, key := range []string{controllers.NotifiedAnnotationKey, v1alpha1.AnnotationKeyHydrate} {
		if !slices.Contains(ours, key) {
			t.Errorf("%s travels", key)
		}
	}
}

// TestObjectsOfWorksAreNotTracked: Argo CD on a cluster does not treat an object of a work as part of its own
// Applications.
func TestObjectsOfWorksAreNotTracked(t *testing.T) {
	tracking := argo.NewResourceTracking()
	for _, file := range goldens(t) {
		for _, obj := range carriedIn(t, file) {
			for _, method := range methods {
				if app := tracking.GetAppName(obj, common.LabelKeyAppInstance, method, ""); app != "" {
					t.Errorf("%s: %s is part of Application %s, by tracking method %q", file, obj.GetName(), app, method)
				}
			}
			marked := obj.DeepCopy()
			if err := tracking.SetAppInstance(marked, common.LabelKeyAppInstance, "apps", "argocd", trackingMethodBoth, ""); err != nil {
				t.Fatal(err)
			}
			for _, method := range methods {
				if app := tracking.GetAppName(marked, common.LabelKeyAppInstance, method, ""); app != "apps" {
					t.Errorf("%s: with its marks, %s is part of Application %q, by tracking method %q", file, obj.GetName(), app, method)
				}
			}
		}
	}
}

// goldens returns the files of the golden works.
func goldens(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, dir := range []string{"pkg/work/testdata", "pkg/dependency/testdata"} {
		found, err := filepath.Glob(filepath.Join(root, dir, "*.golden.yaml"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has no golden files: %v", dir, err)
		}
		files = append(files, found...)
	}
	return files
}

// carriedIn returns the objects of a work.
func carriedIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var w manifestWork
	if err := yaml.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, raw := range w.Spec.Workload.Manifests {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}

// TestPlaceOfTheTrackingLabel: the tracking label is in the settings of Argo CD.
func TestPlaceOfTheTrackingLabel(t *testing.T) {
	ours := constants(t, "controllers/internal/settings/tracking.go")
	partOf := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	hub := fake.NewClientset(
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: ours["argocdSettings"], Labels: partOf},
			Data:       map[string]string{ours["labelKey"]: "example.com/app"},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: common.ArgoCDSecretName, Labels: partOf}},
	)
	if got, err := settings.NewSettingsManager(t.Context(), hub, "argocd").GetAppInstanceLabelKey(); got != "example.com/app" || err != nil {
		t.Errorf("Argo CD reads %q, %v", got, err)
	}
}
