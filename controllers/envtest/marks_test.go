package envtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// chosenLabel is the tracking label that an administrator has configured in Argo CD.
const chosenLabel = "example.com/argocd-app"

// mark sets on an object the marks that the hub's controllers set on an object of the app-of-apps "apps".
func mark(obj client.Object) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[apis.LabelInstance], labels[chosenLabel] = "apps", "apps"
	annotations[apis.AnnotationTrackingID] = "apps:argoproj.io/Application:" + obj.GetNamespace() + "/" + obj.GetName()
	annotations[apis.AnnotationInstallationID] = "hub"
	annotations[apis.AnnotationNotified] = `{"on-deployed":1}`
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

// marksIn returns the keys and values of marks in the objects of a work.
func marksIn(w *workv1.ManifestWork) (found []string) {
	for _, part := range []string{
		apis.LabelInstance, chosenLabel, apis.AnnotationTrackingID, apis.AnnotationInstallationID, apis.AnnotationNotified, `"apps"`,
	} {
		if strings.Contains(carriedBy(w), part) {
			found = append(found, part)
		}
	}
	return found
}

// argocdSettings writes the settings of the hub's Argo CD.
func argocdSettings(t *testing.T, label string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "argocd-cm"}}
	cm.Data = map[string]string{"url": "https://argocd.example.com", "application.instanceLabelKey": label}
	create(t, cm)
	return cm
}

// trackedOnHub creates an Application and all kinds of dependencies, each tracked by an Application of the hub, and
// returns the keys of their works.
func trackedOnHub(t *testing.T) (*argocd.Application, []types.NamespacedName) {
	t.Helper()
	c := cluster(t)
	p := appProject(t, func(p *argocd.AppProject) { mark(p) })
	credential, repo := repoSecret(t, func(s *corev1.Secret) { mark(s) })
	app := webApp(t, c, p.Name, repo).Annotation(apis.AnnotationWith, "secret/db,configmap/settings").Obj()
	mark(app)
	for _, obj := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}},
	} {
		obj.SetNamespace(app.Namespace)
		obj.SetAnnotations(map[string]string{apis.AnnotationPropagate: "true"})
		mark(obj)
		create(t, obj)
	}
	create(t, app)
	return app, []types.NamespacedName{
		work.Key(app), dependency.ProjectKey(c.Name, p.Name), dependency.CredentialKey(c.Name, credential.Name), dependency.ObjectsKey(work.Key(app)),
	}
}

// TestMarksDoNotTravel: tracking marks reach the cluster neither on the Application nor on its dependencies. The test
// covers Argo CD's default label and a label chosen by an administrator.
func TestMarksDoNotTravel(t *testing.T) {
	start(t)
	settings := argocdSettings(t, chosenLabel)
	app, keys := trackedOnHub(t)
	for _, key := range keys {
		expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(marksIn(w)).To(BeEmpty(), key.Name) })
	}
	if got := get(t, app); got.Labels[apis.LabelInstance] != "apps" || got.Labels[chosenLabel] != "apps" {
		t.Errorf("the hub's Application lost labels: %v", got.Labels)
	}

	t.Run("the label is another one", func(t *testing.T) {
		edit(t, settings, func(cm *corev1.ConfigMap) { delete(cm.Data, "application.instanceLabelKey") })
		for _, key := range keys {
			expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
				g.Expect(marksIn(w)).To(ConsistOf(chosenLabel, `"apps"`), key.Name)
			})
		}
		edit(t, settings, func(cm *corev1.ConfigMap) { cm.Data["application.instanceLabelKey"] = chosenLabel })
		for _, key := range keys {
			expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(marksIn(w)).To(BeEmpty(), key.Name) })
		}
	})
}

// TestBookkeepingWritesNoWork: the hub's notifications controller records each sent event in an annotation. The
// annotation alone must not change the work.
func TestBookkeepingWritesNoWork(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	mark(app)
	create(t, app)
	before := expectWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationNotified] = `{"on-deployed":2}` })
	edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/wish"] = "new" })
	after := expectWork(t, app)
	if after.Generation != before.Generation+1 {
		t.Errorf("%d changes of the work", after.Generation-before.Generation)
	}
}

// TestMarksThatAnEarlierVersionSent: Towline rewrites each work with marks once. The same holds for finalizers that no
// controller on a cluster removes.
func TestMarksThatAnEarlierVersionSent(t *testing.T) {
	towline := start(t)
	app, keys := trackedOnHub(t)
	var works []*workv1.ManifestWork
	for _, key := range keys {
		works = append(works, expectDependency(t, key, func(Gomega, *workv1.ManifestWork) {}))
	}
	settled(t)
	towline.stop()
	for _, w := range works {
		edit(t, w, func(w *workv1.ManifestWork) {
			for i := range w.Spec.Workload.Manifests {
				w.Spec.Workload.Manifests[i].Raw = remarked(t, w.Spec.Workload.Manifests[i].Raw)
			}
		})
	}
	start(t)
	for _, key := range keys {
		expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
			g.Expect(carriedBy(w)).NotTo(Or(ContainSubstring(apis.LabelInstance), ContainSubstring(apis.AnnotationTrackingID),
				ContainSubstring("finalizer")), key.Name)
		})
	}
	expectWork(t, app)
	settled(t)
	for _, w := range works {
		if changes := get(t, w.DeepCopy()).Generation - w.Generation; changes != 1 {
			t.Errorf("%d changes of %s", changes, w.Name)
		}
	}
}

// remarked returns a manifest as an earlier version created it.
func remarked(t *testing.T, raw []byte) []byte {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{}
	var manifest map[string]any
	for _, into := range []any{obj, &manifest} {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	mark(obj)
	meta := manifest["metadata"].(map[string]any)
	meta["labels"], meta["annotations"] = obj.Labels, obj.Annotations
	if obj.Kind == argocd.Kind {
		meta["finalizers"] = []string{"example.com/finalizer", apis.FinalizerPreDelete}
	}
	out, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
