package agent

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// sides is a managed cluster with one Application, and its hub with one work, either of which may be missing.
type sides struct {
	client.Client
	app     *argocd.Application
	work    *workv1.ManifestWork
	written int
}

func (s *sides) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch into := obj.(type) {
	case *argocd.Application:
		if s.app != nil {
			*into = *s.app
			return nil
		}
	case *workv1.ManifestWork:
		if s.work != nil {
			*into = *s.work
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (s *sides) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	s.written++
	return nil
}

// carrying is a work with the Application of that name.
func carrying(name string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "guestbook-1", UID: "w"}}
	w.Spec.Workload.Manifests = []workv1.Manifest{{}}
	w.Spec.Workload.Manifests[0].Raw = []byte(
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"argocd","name":"` + name + `"}}`)
	return w
}

// deleted is a work that waits for its end. In a foreground deletion it waits for that of its report.
func deleted(w *workv1.ManifestWork) *workv1.ManifestWork {
	now := metav1.Now()
	w.DeletionTimestamp = &now
	return w
}

// TestAWorkThatIsPutRight: a report that had to wait for its work is written without a change on the cluster.
func TestAWorkThatIsPutRight(t *testing.T) {
	app := fixture.Application("guestbook").Annotation(apis.AnnotationWork, "guestbook-1").Obj()
	app.Status.Health.Status = "Healthy"
	key := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	for title, broken := range map[string]*workv1.ManifestWork{
		"tampered with": carrying("other"), "not there": nil, "being deleted": deleted(carrying("guestbook")),
	} {
		t.Run(title, func(t *testing.T) {
			s := &sides{app: app, work: broken}
			r := &Reconciler{Cluster: s, Hub: s, Works: s, Namespace: "cluster1"}
			reconcile := func() ctrl.Result {
				result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
				if err != nil {
					t.Fatal(err)
				}
				return result
			}
			if got := reconcile(); got.RequeueAfter != ownerRetry || s.written > 0 {
				t.Errorf("got %+v, %d writes: want another try", got, s.written)
			}
			s.work = carrying("guestbook")
			if got := reconcile(); got.RequeueAfter != 0 || s.written != 1 {
				t.Errorf("got %+v, %d writes: want the report written", got, s.written)
			}
			s.app = nil
			reconcile()
			if len(r.owners.works)+len(r.pace.last) > 0 {
				t.Error("an Application that is gone is remembered")
			}
		})
	}
}
