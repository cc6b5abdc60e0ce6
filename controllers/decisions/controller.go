// Package decisions refreshes ApplicationSets at once after a change of the Placement's decisions: the arrow from
// PlacementDecision to Argo CD's refresh annotation. Without the refresh, a clusterDecisionResource generator reads the
// decisions every requeueAfterSeconds, three minutes by default (Argo CD 2.14 and 3). A new cluster Secret is not
// noticed either.
//
// The package writes only this annotation. After a time without a running controller, the generators read the decisions
// by requeueAfterSeconds.
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

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/generator"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// The ClusterRole for these rights is separate: the rest of Towline must not change ApplicationSets.
//
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch

const (
	// burst is the wait for further decisions: OCM's placement controller writes decisions one by one.
	burst = 500 * time.Millisecond

	// second is the time until the second refresh: the Secret of a chosen cluster may not exist at first, and a
	// generator then skips the cluster.
	second = 5 * time.Second

	// page is the number of ApplicationSets in one page of a list.
	page = 200
)

// Kinds are the kinds required on the hub.
var Kinds = append(
	[]schema.GroupVersionKind{schema.GroupVersion(clusterv1beta1.GroupVersion).WithKind("PlacementDecision")}, hub.ApplicationSetKinds...)

// Reconciler refreshes the ApplicationSets that follow one Placement. The memory lasts only for seconds.
type Reconciler struct {
	client.Client

	// Live reads from the API server, past the cache, because the cache has no specs of ApplicationSets.
	Live client.Reader

	// Home is the namespace of the hub's Argo CD. ApplicationSets of all namespaces may read the decisions there.
	Home string

	changed changes
}

// Reconcile refreshes the ApplicationSets that follow the requested Placement, now and once more. Reconcile refreshes
// no ApplicationSet if the Placement has only lost clusters and a lost cluster does not respond. The outage may end
// before the next regular read by the generators.
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
		failed = errors.Join(failed, r.requestRefresh(ctx, &following[i]))
	}
	if failed != nil {
		return ctrl.Result{}, failed
	}
	if again := r.changed.noteRefresh(req.NamespacedName, c); !again || len(following) == 0 {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: second}, nil
}

// following returns the ApplicationSets that read the given decisions.
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
	err = hub.Pages(ctx, r.Live, fresh, func(list *unstructured.UnstructuredList, _ string) error {
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

// away reports whether a change only removes clusters, and a removed cluster does not respond.
func (r *Reconciler) away(ctx context.Context, c *change) (bool, error) {
	if c == nil || len(without(c.gained, c.lost)) > 0 {
		return false, nil
	}
	for _, name := range without(c.lost, c.gained) {
		cluster := &clusterv1.ManagedCluster{}
		err := r.Get(ctx, types.NamespacedName{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		switch {
		case hub.IsAbsent(err): // the cluster was detached
		case err != nil:
			return false, err
		case managedcluster.Unreachable(cluster) != "":
			return true, nil
		}
	}
	return false, nil
}

// requestRefresh sets the refresh annotation on an ApplicationSet. Argo CD removes the annotation after the refresh. If the
// API server refuses the change, the ApplicationSet refreshes later, after requeueAfterSeconds. A refusal does not stop the
// remaining ApplicationSets.
func (r *Reconciler) requestRefresh(ctx context.Context, set *unstructured.Unstructured) error {
	if !set.GetDeletionTimestamp().IsZero() || set.GetAnnotations()[apis.AnnotationSetRefresh] != "" {
		return nil
	}
	patch := []byte(`{"metadata":{"annotations":{"` + apis.AnnotationSetRefresh + `":"true"}}}`)
	err := r.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch))
	if loop.IsRefusal(err) {
		ctrl.LoggerFrom(ctx).Error(err, "An ApplicationSet cannot be asked to look again", "applicationSet", client.ObjectKeyFromObject(set))
		return nil
	}
	if hub.IsAbsent(err) {
		return nil
	}
	return err
}
