// Package decisions has ApplicationSets look again at once when the decisions of their Placement change: the arrow from
// PlacementDecision to the refresh that Argo CD knows. Without it, a clusterDecisionResource generator looks every
// requeueAfterSeconds, three minutes by default (Argo CD 2.14 and 3), and does not hear of a new cluster Secret either.
//
// It writes one annotation, and nothing else. What was decided while nobody ran, generators find by themselves.
package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/fetch"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/sets"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/generator"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// They go to a ClusterRole of their own, so that nothing else may change ApplicationSets.
//
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

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

// Reconciler asks the ApplicationSets that follow one Placement to look again. What it remembers is for seconds.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache, which has no specs of ApplicationSets.
	Live client.Reader

	// Home is the namespace of the hub's Argo CD: decisions there may be read by ApplicationSets of all namespaces.
	Home string

	changed changes
}

// Reconcile asks the ApplicationSets that follow the Placement of that key to look again, now and once more. Where a Placement has
// only lost clusters, and one of them does not respond, nobody is hurried: an outage may pass before the generators look by themselves.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := r.changed.of(req.NamespacedName)
	if wait, err := r.away(ctx, c); c == nil || wait || err != nil {
		return ctrl.Result{}, err
	}
	decisions := &clusterv1beta1.PlacementDecisionList{}
	ofPlacement := client.MatchingLabels{clusterv1beta1.PlacementLabel: req.Name}
	if err := r.List(ctx, decisions, client.InNamespace(req.Namespace), ofPlacement, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	following, err := r.following(ctx, req.Namespace, decisions.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	var failed error
	for i := range following {
		failed = errors.Join(failed, r.ask(ctx, &following[i]))
	}
	if failed != nil {
		return ctrl.Result{}, failed
	}
	if again := r.changed.asked(req.NamespacedName, c); !again || len(following) == 0 {
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
	fresh := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSetList"))
		return list
	}
	err = fetch.Pages(ctx, r.Live, fresh, func(list *unstructured.UnstructuredList, _ string) error {
		for i := range list.Items {
			spec, err := json.Marshal(list.Items[i].Object["spec"])
			if err == nil && generator.Follows(spec, decisions) {
				out = append(out, list.Items[i])
			}
		}
		return nil
	}, client.InNamespace(namespace), client.Limit(page))
	return out, err
}

// away tells whether a change takes nothing but clusters away, and one of them does not respond.
func (r *Reconciler) away(ctx context.Context, c *change) (bool, error) {
	if c == nil || len(without(c.gained, c.lost)) > 0 {
		return false, nil
	}
	for _, name := range without(c.lost, c.gained) {
		cluster := &clusterv1.ManagedCluster{}
		err := r.Get(ctx, types.NamespacedName{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		switch {
		case gone.Is(err): // it was detached
		case err != nil:
			return false, err
		case managedcluster.Unreachable(cluster) != "":
			return true, nil
		}
	}
	return false, nil
}

// ask puts the annotation on an ApplicationSet, which Argo CD takes off when it has looked. One that the API server will not have
// changed looks by itself later, and keeps no other from being asked.
func (r *Reconciler) ask(ctx context.Context, set *unstructured.Unstructured) error {
	if !set.GetDeletionTimestamp().IsZero() || set.GetAnnotations()[apis.AnnotationSetRefresh] != "" {
		return nil
	}
	patch := []byte(`{"metadata":{"annotations":{"` + apis.AnnotationSetRefresh + `":"true"}}}`)
	err := r.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch))
	if loop.IsRefusal(err) {
		ctrl.LoggerFrom(ctx).Error(err, "An ApplicationSet cannot be asked to look again", "applicationSet", client.ObjectKeyFromObject(set))
		return nil
	}
	if gone.Is(err) {
		return nil
	}
	return err
}
