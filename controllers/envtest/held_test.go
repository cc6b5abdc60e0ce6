package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// annotate sets the pause annotation of an object; an empty value ends the pause. A cluster is paused on its namespace.
func annotate(t *testing.T, obj client.Object, value string) {
	t.Helper()
	if c, is := obj.(*clusterv1.ManagedCluster); is {
		obj = namespaceOf(c.Name)
	}
	edit(t, obj, func(o client.Object) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[apis.AnnotationPaused] = value
		o.SetAnnotations(annotations)
	})
}

// namespaceOf returns the namespace of a cluster on the hub. Administrators pause the cluster with an annotation of
// this namespace.
func namespaceOf(cluster string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
}

// pausable creates an ApplicationSet in its own namespace.
func pausable(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	set := setObject(namespace(t, unique("sets")), "set")
	create(t, set)
	return set
}

// setObject returns an ApplicationSet without generated Applications.
func setObject(namespace, name string) *unstructured.Unstructured {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	set.SetNamespace(namespace)
	set.SetName(name)
	set.Object["spec"] = map[string]any{
		"generators": []any{},
		"template": map[string]any{
			"metadata": map[string]any{},
			"spec":     map[string]any{"project": "default", "destination": map[string]any{}},
		},
	}
	return set
}

func managedCluster(name string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestPause(t *testing.T) {
	start(t)
	c := cluster(t)
	set := pausable(t)
	for title, tc := range map[string]struct {
		app   *argocd.Application
		pause func(app *argocd.Application, value string)
		by    string
	}{
		"on the Application": {
			application(t, c).Finalizers(apis.FinalizerResources).Obj(),
			func(app *argocd.Application, value string) {
				edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = value })
			}, "this Application"},
		"on its ApplicationSet": {
			application(t, c).Namespace(set.GetNamespace()).Finalizers(apis.FinalizerResources).ApplicationSet(set.GetName()).Obj(),
			func(_ *argocd.Application, value string) { annotate(t, set, value) }, "ApplicationSet " + set.GetNamespace() + "/" + set.GetName()},
		"on its cluster": {
			application(t, c).Finalizers(apis.FinalizerResources).Obj(),
			func(_ *argocd.Application, value string) { annotate(t, c, value) }, "Namespace " + c.Name},
	} {
		t.Run(title, func(t *testing.T) {
			app := tc.app
			create(t, app)
			held := expectWork(t, app)
			tc.pause(app, "true")
			expectNotice(t, app, apis.ConditionPausedWarning, tc.by)
			edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
			reportHeld(t, app, feedbackOf(app).Healthy("a"))
			expectHealth(t, app, "Healthy")
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "hard" })
			expectNotice(t, app, apis.ConditionRefreshWarning, "paused by the annotation "+apis.AnnotationPaused+" on "+tc.by)
			if got := workOf(t, app); got.Generation != held.Generation {
				t.Error("the work was written")
			}
			remove(t, app)
			expectNotice(t, app, apis.ConditionPausedWarning, "the deletion waits")
			if got := workOf(t, app); got == nil || !got.DeletionTimestamp.IsZero() {
				t.Error("the work was deleted")
			}
			tc.pause(app, "")
			expectGone(t, app)
			expectNoWork(t, app)
		})
	}
}

// TestPauseThatCannotBeRead: an invalid pause annotation pauses its object, and the condition names the invalid value.
func TestPauseThatCannotBeRead(t *testing.T) {
	start(t)
	c, set := cluster(t), pausable(t)
	for title, tc := range map[string]struct {
		app   *argocd.Application
		pause func(app *argocd.Application, value string)
	}{
		"on the Application": {application(t, c).Obj(), func(app *argocd.Application, value string) {
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = value })
		}},
		"on its ApplicationSet": {
			application(t, c).Namespace(set.GetNamespace()).ApplicationSet(set.GetName()).Obj(),
			func(_ *argocd.Application, value string) { annotate(t, set, value) }},
		"on its cluster": {application(t, c).Obj(), func(_ *argocd.Application, value string) { annotate(t, c, value) }},
	} {
		t.Run(title, func(t *testing.T) {
			create(t, tc.app)
			held := expectWork(t, tc.app)
			tc.pause(tc.app, "yes")
			expectNotice(t, tc.app, apis.ConditionPausedWarning, `whose value "yes" is neither true nor false and counts as true`)
			edit(t, tc.app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
			settled(t)
			if got := workOf(t, tc.app); got.Generation != held.Generation {
				t.Error("the work was written")
			}
			tc.pause(tc.app, "1")
			NewWithT(t).Eventually(func() string {
				message, _ := condition(t, tc.app, apis.ConditionPausedWarning)
				return message
			}, soon, tick).Should(And(ContainSubstring("changes on the hub wait"), Not(ContainSubstring("neither"))))
			tc.pause(tc.app, "False")
			expectWork(t, tc.app)
			expectNoNotice(t, tc.app, apis.ConditionPausedWarning)
		})
	}
}

// TestDeletionThatCannotBeRead: a deletion waits until an invalid annotation is corrected. An invalid value of the
// force-delete annotation does not force the deletion.
func TestDeletionThatCannotBeRead(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Annotation(apis.AnnotationForceDelete, "yes").Obj()
	create(t, app)
	w := expectWork(t, app)
	seen(t, w)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "yes" })
	remove(t, app)
	expectNotice(t, app, apis.ConditionDeletionWarning, apis.AnnotationRelease+`: "yes" is not one of true, false`)
	expectKept(t, w)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "false" })
	expectDeleting(t, w)
	expectNotice(t, app, apis.ConditionDeletionWarning, apis.AnnotationForceDelete+`: "yes" is not one of true, false`)
	settled(t)
	if get(t, app.DeepCopy()) == nil {
		t.Fatal("it was forced")
	}
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "T" })
	expectGone(t, app)
	release(t, w)
}

func TestDeletionEndsWithoutTheCluster(t *testing.T) {
	start(t)
	for title, letGo := range map[string]func(app *argocd.Application){
		"by force": func(app *argocd.Application) {
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
		},
		"the cluster is gone": func(app *argocd.Application) {
			if err := k8s.Delete(t.Context(), managedCluster(app.Cluster())); err != nil {
				t.Fatal(err)
			}
		},
		"the cluster is not accepted any more": func(app *argocd.Application) {
			edit(t, managedCluster(app.Cluster()), func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
		},
	} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources, "example.com/mine").Obj()
			create(t, app)
			edit(t, expectWork(t, app), func(w *workv1.ManifestWork) { w.Finalizers = []string{agentFinalizer} })
			remove(t, app)
			expectNotice(t, app, apis.ConditionDeletionWarning, "waiting for cluster "+app.Cluster())
			availability(t, get(t, managedCluster(app.Cluster())), metav1.ConditionUnknown, "lost")
			expectNotice(t, app, apis.ConditionDeletionWarning, "has not been available since")
			letGo(app)
			g := NewWithT(t)
			g.Eventually(func() []string { return get(t, app).Finalizers }, soon, tick).Should(Equal([]string{"example.com/mine"}))
			g.Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonDeletedUnconfirmed))
			edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
			expectGone(t, app)
		})
	}
}
