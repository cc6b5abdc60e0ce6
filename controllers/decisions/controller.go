// Package decisions has ApplicationSets look again at once when the decisions of their Placement change: the arrow from
// PlacementDecision to the refresh that Argo CD knows. Without it, a clusterDecisionResource generator looks every
// requeueAfterSeconds, three minutes by default (Argo CD 2.14 and 3), and does not hear of a new cluster Secret either.
//
// It writes one annotation, and nothing else. What was decided while nobody ran, generators find by themselves.
package decisions

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/controllers/internal/sets"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/generator"
)

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;patch

const (
	// burst is how long to wait for more: OCM's placement controller writes decisions one by one.
	burst = 500 * time.Millisecond

	// second is when to ask once more: a cluster that is chosen may not have its Secret yet, and a generator passes over it then.
	second = 5 * time.Second

	// page is how many ApplicationSets are asked for at a time.
	page = 200
)

// Kinds are those that have to be served.
var Kinds = append([]schema.GroupVersionKind{schema.GroupVersion(clusterv1beta1.GroupVersion).WithKind("PlacementDecision")}, sets.Kinds...)

// Reconciler asks the ApplicationSets that follow one Placement to look again. What it remembers is for five seconds.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache, which has no specs of ApplicationSets.
	Live client.Reader

	// Home is the namespace of the hub's Argo CD: decisions there may be read by ApplicationSets of all namespaces.
	Home string

	asked asked
}

// asked remembers the Placements whose ApplicationSets are to be asked once more.
type asked struct {
	mu  sync.Mutex
	all map[types.NamespacedName]bool
}

// again tells whether that was the first time since the decisions changed.
func (a *asked) again(key types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[key] {
		delete(a.all, key)
		return false
	}
	if a.all == nil {
		a.all = map[types.NamespacedName]bool{}
	}
	a.all[key] = true
	return true
}

// changed begins anew: the decisions have changed.
func (a *asked) changed(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, key)
}

// Reconcile asks the ApplicationSets that follow the Placement of that key to look again, now and once more.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	decisions := &clusterv1beta1.PlacementDecisionList{}
	ofPlacement := client.MatchingLabels{clusterv1beta1.PlacementLabel: req.Name}
	if err := r.List(ctx, decisions, client.InNamespace(req.Namespace), ofPlacement, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	following, err := r.following(ctx, req.Namespace, decisions.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range following {
		if err := r.ask(ctx, &following[i]); err != nil {
			return ctrl.Result{}, err
		}
	}
	if again := r.asked.again(req.NamespacedName); !again || len(following) == 0 {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: second}, nil
}

// following are the ApplicationSets that read those decisions.
func (r *Reconciler) following(
	ctx context.Context, namespace string, decisions []clusterv1beta1.PlacementDecision,
) (out []unstructured.Unstructured, err error) {
	if namespace == r.Home {
		namespace = ""
	}
	for token := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSetList"))
		if err := r.Live.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(token)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			spec, err := json.Marshal(list.Items[i].Object["spec"])
			if err == nil && generator.Follows(spec, decisions) {
				out = append(out, list.Items[i])
			}
		}
		if token = list.GetContinue(); token == "" {
			return out, nil
		}
	}
}

// ask puts the annotation on an ApplicationSet, which Argo CD takes off when it has looked.
func (r *Reconciler) ask(ctx context.Context, set *unstructured.Unstructured) error {
	if !set.GetDeletionTimestamp().IsZero() || set.GetAnnotations()[apis.AnnotationSetRefresh] != "" {
		return nil
	}
	patch := []byte(`{"metadata":{"annotations":{"` + apis.AnnotationSetRefresh + `":"true"}}}`)
	if err := r.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch)); err != nil && !gone.Is(err) {
		return err
	}
	return nil
}
