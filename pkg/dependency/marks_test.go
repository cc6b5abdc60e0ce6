package dependency_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// marked sets the labels and annotations of an object that the hub's Argo CD has deployed.
func marked(meta *metav1.ObjectMeta) {
	meta.Labels = map[string]string{apis.LabelInstance: "apps", apis.LabelSecretType: apis.SecretTypeRepository, "team": "web"}
	meta.Annotations = map[string]string{
		apis.AnnotationTrackingID: "apps:/Secret:argocd/x", apis.AnnotationInstallationID: "hub",
		apis.AnnotationPropagate: "true", "argocd.argoproj.io/sync-wave": "1",
	}
}

// dependencies returns works of each kind, with objects that the hub's Argo CD has deployed.
func dependencies(t *testing.T) map[string]*workv1.ManifestWork {
	t.Helper()
	p := project(t, `{}`)
	credential, secret, config := &corev1.Secret{}, &corev1.Secret{}, &corev1.ConfigMap{}
	credential.Name, secret.Name, config.Name = "repository", "tls", "settings"
	for _, meta := range []*metav1.ObjectMeta{&p.ObjectMeta, &credential.ObjectMeta, &secret.ObjectMeta, &config.ObjectMeta} {
		marked(meta)
	}
	own := work.Key(fixture.Application("guestbook").Obj())
	out := map[string]*workv1.ManifestWork{}
	for title, render := range map[string]func() (*workv1.ManifestWork, error){
		"project":    func() (*workv1.ManifestWork, error) { return dependency.RenderProject(p, c1, "argocd") },
		"credential": func() (*workv1.ManifestWork, error) { return dependency.RenderCredential(credential, "c1", "argocd") },
		"objects": func() (*workv1.ManifestWork, error) {
			return dependency.RenderObjects(own, placed("apps", secret, config))
		},
	} {
		w, err := render()
		if err != nil {
			t.Fatal(err)
		}
		out[title] = w
	}
	return out
}

// expectNoMarks fails if a manifest of the work has more labels or annotations than its owner set.
func expectNoMarks(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	for _, m := range w.Spec.Workload.Manifests {
		var held metav1.PartialObjectMetadata
		if err := json.Unmarshal(m.Raw, &held); err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{apis.LabelPulled: "true", apis.LabelSecretType: apis.SecretTypeRepository, "team": "web"}
		if diff := cmp.Diff(labels, held.Labels); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", held.Name, diff)
		}
		if diff := cmp.Diff(map[string]string{"argocd.argoproj.io/sync-wave": "1"}, held.Annotations); diff != "" {
			t.Errorf("annotations of %s (-want +got):\n%s", held.Name, diff)
		}
	}
}

// TestDependenciesTravelWithoutMarks checks that the cluster's Argo CD does not adopt delivered dependencies.
func TestDependenciesTravelWithoutMarks(t *testing.T) {
	for title, w := range dependencies(t) {
		t.Run(title, func(t *testing.T) { expectNoMarks(t, w) })
	}
}

// TestMarksThatAnEarlierVersionSent checks that every change of a work removes the hub's marks, even without a new
// rendering.
func TestMarksThatAnEarlierVersionSent(t *testing.T) {
	for title, next := range map[string]func(w *workv1.ManifestWork) (*workv1.ManifestWork, error){
		"kept": func(w *workv1.ManifestWork) (*workv1.ManifestWork, error) { dependency.SetKept(w); return w, nil },
		"left": func(w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
			dependency.Release(w, []types.NamespacedName{{Namespace: "argocd", Name: "guestbook"}})
			return w, nil
		},
		"released": dependency.FinalProject,
	} {
		for kind, w := range dependencies(t) {
			if title == "released" && kind != "project" {
				continue
			}
			t.Run(title+" "+kind, func(t *testing.T) {
				for i := range w.Spec.Workload.Manifests {
					w.Spec.Workload.Manifests[i].Raw = remark(t, w.Spec.Workload.Manifests[i].Raw)
				}
				out, err := next(w)
				if err != nil {
					t.Fatal(err)
				}
				expectNoMarks(t, out)
			})
		}
	}
}

// remark puts the hub's marks on a manifest, as an earlier version did.
func remark(t *testing.T, raw []byte) []byte {
	t.Helper()
	var manifest map[string]any
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	meta := &metav1.ObjectMeta{}
	marked(meta)
	delete(meta.Annotations, apis.AnnotationPropagate)
	labels := map[string]string{apis.LabelPulled: "true"}
	maps.Copy(labels, meta.Labels)
	there := manifest["metadata"].(map[string]any)
	there["labels"], there["annotations"] = labels, meta.Annotations
	out, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
