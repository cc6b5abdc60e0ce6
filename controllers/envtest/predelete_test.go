package envtest_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// preDelete are the finalizers that the hub's Argo CD (3.3 and later) sets on an Application with pre-delete hooks.
var preDelete = []string{apis.FinalizerPreDelete, apis.FinalizerPreDelete + "/cleanup"}

// held returns the finalizers of the Application in its work.
func held(t *testing.T, app *argocd.Application) []string {
	t.Helper()
	there, ok := work.Carried(expectWork(t, app))
	if !ok {
		t.Fatal("the work carries no Application")
	}
	return there.Finalizers
}

// TestDeletionWithPreDeleteFinalizers: the pre-delete finalizers stay on the hub, because not every Argo CD on a
// cluster removes them. The hub's Application ends after the cluster has removed its Application.
func TestDeletionWithPreDeleteFinalizers(t *testing.T) {
	start(t)
	for title, others := range map[string][]string{"with a cascade": {apis.FinalizerResources}, "alone": nil} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(slices.Concat(others, preDelete)...).Obj()
			create(t, app)
			if got := held(t, app); !slices.Equal(got, others) {
				t.Errorf("the cluster's Application is to have %v", got)
			}
			w := atWork(t, app)
			remove(t, app)
			if others == nil { // the cluster first confirms that no finalizer destroys the workload
				applied(t, expectAsking(t, w))
			}
			expectDeleting(t, w)
			if got := get(t, app.DeepCopy()); got == nil || len(got.Finalizers) != len(others)+len(preDelete) {
				t.Fatal("the hub says gone while the cluster still has the Application")
			}
			release(t, w)
			expectGone(t, app)
		})
	}
}

// TestEndsWithPreDeleteFinalizers: every kind of end of an Application also removes the pre-delete finalizers.
func TestEndsWithPreDeleteFinalizers(t *testing.T) {
	start(t)
	for title, end := range map[string]func(t *testing.T, app *argocd.Application){
		"never sent": func(t *testing.T, app *argocd.Application) { remove(t, app) },
		"by force": func(t *testing.T, app *argocd.Application) {
			atWork(t, app)
			remove(t, app)
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
		},
		"released": func(t *testing.T, app *argocd.Application) {
			w := atWork(t, app)
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
			applied(t, expectReleasing(t, app))
			expectDeleting(t, w)
			release(t, w)
			remove(t, app)
		},
		"without its label": func(t *testing.T, app *argocd.Application) {
			atWork(t, app)
			unlabel(t, app)
			remove(t, app)
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := cluster(t)
			b := application(t, c).Finalizers(append([]string{"example.com/mine"}, preDelete...)...)
			if title == "never sent" {
				b.Cluster("nowhere")
			}
			app := b.Obj()
			create(t, app)
			end(t, app)
			NewWithT(t).Eventually(func() []string { return get(t, app).Finalizers }, soon, tick).Should(Equal([]string{"example.com/mine"}))
			edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
			expectGone(t, app)
		})
	}
}

// TestFinalizersThatTowlinesTokenMayTakeOff: Towline may remove only the finalizers that make the end of an Application
// wait for its cluster.
func TestFinalizersThatTowlinesTokenMayTakeOff(t *testing.T) {
	applyPolicy(t, "applications.yaml")
	towline := asTowline(t, "argocd", "towline-controller")
	ns := namespace(t, unique("apps"))
	deleted := func(t *testing.T, finalizer string) *argocd.Application {
		t.Helper()
		app := makeApplication(t, ns)
		edit(t, app, func(a *argocd.Application) { a.Finalizers = []string{finalizer} })
		remove(t, app)
		return app
	}
	try := func(app *argocd.Application) error {
		return towline.Patch(t.Context(), app.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`)), client.DryRunAll)
	}
	heeded := deleted(t, "example.com/mine")
	// An API server that does not know the rights of the ServiceAccount yet refuses the patch too, for another reason.
	NewWithT(t).Eventually(func() error { return try(heeded) }, soon, tick).
		Should(MatchError(ContainSubstring("Towline takes off Argo CD's finalizers")), "the policy is not heeded")
	for finalizer, may := range map[string]bool{
		apis.FinalizerResources + "/background":                      true,
		apis.FinalizerPreDelete:                                      true,
		apis.FinalizerPreDelete + "/cleanup":                         true,
		apis.FinalizerPostDelete + "/cleanup":                        true,
		"argocd.argoproj.io/hook-finalizer":                          false,
		strings.Replace(apis.FinalizerPreDelete, "argoproj", "x", 1): false,
	} {
		t.Run(finalizer, func(t *testing.T) {
			if err := try(deleted(t, finalizer)); (err == nil) != may {
				t.Errorf("got %v", err)
			}
		})
	}
}
