package faults

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// hangs is the revision of an operation that Argo never ends.
const hangs = "hangs"

// workloadNamespace is the namespace of Argo's workloads on a cluster.
const workloadNamespace = "default"

// Real are the flows for a test with a cluster's real Argo CD. The real Argo CD takes seconds for a step, and Argo
// takes milliseconds.
var Real = []string{"create", "change", "operation", "pause", "release", "delete", "delete-operation", "again"}

// workload returns the kind of the workload on a cluster: the ConfigMap of Argo, or the Deployment of the guestbook
// with a real Argo CD.
func (w *World) workload(on *plane) schema.GroupVersionKind {
	if w.argo[on.name] == nil {
		return deployments
	}
	return workloads
}

// compared returns the revision of an Application after the comparison by the cluster's Argo CD. The revision of Argo
// also depends on the spec. A real Argo CD reports Healthy for a moment before the deployment.
func (w *World) compared(on *plane, app *unstructured.Unstructured) string {
	switch {
	case w.argo[on.name] != nil:
		return revision(app)
	case text(app, "status", "sync", "status") == "Synced":
		return text(app, "status", "sync", "revision")
	}
	return "not synced yet"
}

// Argo plays a cluster's Argo CD. Argo deploys a ConfigMap for each Application, and finds it by the Application's
// name, as Argo CD does by its tracking label.
type Argo struct {
	client.Client

	mu  sync.Mutex
	ran map[string]int
}

// NewArgo adds a played Argo CD to the manager of a cluster.
func NewArgo(mgr manager.Manager) (*Argo, error) {
	a := &Argo{Client: mgr.GetClient(), ran: map[string]int{}}
	return a, ctrl.NewControllerManagedBy(mgr).Named("argo").For(object(applications, "", "")).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16, SkipNameValidation: ptr.To(true)}).Complete(a)
}

// operations returns the number of operations that have begun for Applications of the name, in all namespaces.
func (a *Argo) operations(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ran[name]
}

func (a *Argo) began(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ran[name]++
}

// Reconcile does the next step for an Application. The event of the step leads to the following step.
func (a *Argo) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := object(applications, req.Namespace, req.Name)
	if err := a.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err := a.step(ctx, app)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 50 * time.Millisecond}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func (a *Argo) step(ctx context.Context, app *unstructured.Unstructured) error {
	operation, asked := app.Object["operation"]
	switch phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase"); {
	case asked && phase == "Terminating":
		return a.finish(ctx, app, "Failed", "Operation terminated")
	case asked && phase == "Running" && sameOperation(app, operation):
		if revision, _, _ := unstructured.NestedString(app.Object, "operation", "sync", "revision"); revision == hangs {
			return nil
		}
		return a.finish(ctx, app, "Succeeded", "successfully synced (all tasks run)")
	case app.GetDeletionTimestamp() != nil:
		return a.cascade(ctx, app)
	case asked:
		// The update replaces the whole state: fields of the previous operation do not stay.
		begun := app.DeepCopy()
		state := map[string]any{"operation": operation, "phase": "Running", "startedAt": now()}
		if err := unstructured.SetNestedMap(begun.Object, state, "status", "operationState"); err != nil {
			return err
		}
		if err := a.Update(ctx, begun); err != nil {
			return err
		}
		a.began(app.GetName())
		return nil
	}
	return a.compare(ctx, app)
}

// sameOperation reports whether the running operation is the requested operation.
func sameOperation(app *unstructured.Unstructured, operation any) bool {
	runs, _, _ := unstructured.NestedMap(app.Object, "status", "operationState", "operation")
	one, _ := json.Marshal(runs)
	other, _ := json.Marshal(operation)
	return string(one) == string(other)
}

func (a *Argo) finish(ctx context.Context, app *unstructured.Unstructured, phase, message string) error {
	return a.patch(ctx, app, map[string]any{
		"operation": nil,
		"status": map[string]any{
			"operationState": map[string]any{
				"phase": phase, "finishedAt": now(), "message": message, "syncResult": map[string]any{"revision": revision(app)},
			},
			"reconciledAt": now(),
		},
	})
}

// cascade deletes the workload if the finalizers request a cascade, and removes the cascade finalizers.
func (a *Argo) cascade(ctx context.Context, app *unstructured.Unstructured) error {
	finalizers := app.GetFinalizers()
	if argocd.Destroys(finalizers) {
		if err := client.IgnoreNotFound(a.Delete(ctx, object(workloads, workloadNamespace, app.GetName()))); err != nil {
			return err
		}
	}
	left := slices.DeleteFunc(slices.Clone(finalizers), argocd.IsCascadeFinalizer)
	if len(left) == len(finalizers) {
		return nil
	}
	return a.patch(ctx, app, map[string]any{"metadata": map[string]any{"finalizers": left}})
}

// compare deploys a missing workload, and reports Synced and Healthy.
func (a *Argo) compare(ctx context.Context, app *unstructured.Unstructured) error {
	shown, _, _ := unstructured.NestedString(app.Object, "status", "sync", "revision")
	_, refresh := app.GetAnnotations()[apis.AnnotationRefresh]
	if shown == revision(app) && !refresh {
		return nil
	}
	workload := object(workloads, workloadNamespace, app.GetName())
	if err := client.IgnoreAlreadyExists(a.Create(ctx, workload)); err != nil {
		return err
	}
	status := map[string]any{
		"health": map[string]any{"status": "Healthy", "lastTransitionTime": now()},
		"sync": map[string]any{
			"status": "Synced", "revision": revision(app),
			"comparedTo": map[string]any{"source": field(app, "source"), "destination": field(app, "destination")},
		},
		"resources":    []any{resource(app.GetName(), "Healthy")},
		"reconciledAt": now(),
	}
	return a.patch(ctx, app, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{apis.AnnotationRefresh: nil}}, "status": status,
	})
}

// resource returns the status entry of an Application's workload.
func resource(name, health string) map[string]any {
	return map[string]any{
		"version": "v1", "kind": workloads.Kind, "namespace": workloadNamespace, "name": name, "status": "Synced",
		"health": map[string]any{"status": health},
	}
}

func field(app *unstructured.Unstructured, name string) any {
	value, _, _ := unstructured.NestedFieldCopy(app.Object, "spec", name)
	return value
}

// patch changes an Application, with the version of the read as a precondition.
func (a *Argo) patch(ctx context.Context, app *unstructured.Unstructured, patch map[string]any) error {
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	metadata["resourceVersion"] = app.GetResourceVersion()
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	target := object(applications, app.GetNamespace(), app.GetName())
	return a.Patch(ctx, target, client.RawPatch("application/merge-patch+json", data))
}

// revision returns the commit of an Application's spec.
func revision(app *unstructured.Unstructured) string {
	data, _ := json.Marshal(app.Object["spec"])
	sum := sha1.Sum([]byte(strings.ReplaceAll(string(data), app.GetName(), "")))
	return hex.EncodeToString(sum[:])
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }
