package gitopscluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxNote is how long the text of an event may be (events.k8s.io/v1).
const maxNote = 1024

// report writes what came of an attempt into the status, where it says something else, and then tells of it.
func (r *Reconciler) report(ctx context.Context, g *v1beta1.GitOpsCluster, o *outcome) error {
	r.held.set(client.ObjectKeyFromObject(g), o.heldClusters())
	before := g.DeepCopy()
	update(g, o, metav1.Now())
	show(g)
	if !equality.Semantic.DeepEqual(before.Status, g.Status) {
		if err := r.Status().Patch(ctx, g, client.MergeFrom(before)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	r.tell(g, o, before.Status.Conditions)
	return nil
}

// update brings the status up to date with what came of an attempt.
func update(g *v1beta1.GitOpsCluster, o *outcome, now metav1.Time) {
	ready := o.ready()
	for conditionType, v := range map[string]verdict{
		apis.ConditionPlacementResolved: o.resolved,
		apis.ConditionClustersImported:  o.imported,
		apis.ConditionClustersRemoved:   o.removed,
		apis.ConditionReady:             ready,
	} {
		if v.status == "" {
			continue
		}
		meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: v.status, Reason: v.reason, Message: feedback.Clean(v.message, feedback.MaxMessage),
			ObservedGeneration: g.Generation, LastTransitionTime: now,
		})
	}
	slices.SortFunc(g.Status.Conditions, byOrder)
	g.Status.ArgoNamespaces = without(g.Status.ArgoNamespaces, o.gone...)
	if o.clusters != nil {
		g.Status.Clusters = o.clusters
	}
	if ready.status == "" {
		return
	}
	phase, message := v1beta1.PhaseSuccessful, feedback.Clean(ready.message, feedback.MaxMessage)
	if ready.status != metav1.ConditionTrue {
		phase = v1beta1.PhaseFailed
	}
	if g.Status.Phase != phase || g.Status.Message != message {
		g.Status.Phase, g.Status.Message, g.Status.LastUpdateTime = phase, message, &now
	}
}

// order is that of the flow.
var order = []string{apis.ConditionReady, apis.ConditionPlacementResolved, apis.ConditionClustersImported, apis.ConditionClustersRemoved}

func byOrder(a, b metav1.Condition) int {
	return slices.Index(order, a.Type) - slices.Index(order, b.Type)
}

// tell records the events of an attempt: what was made and removed, and a problem that is new.
func (r *Reconciler) tell(g *v1beta1.GitOpsCluster, o *outcome, was []metav1.Condition) {
	slices.Sort(o.created)
	if len(o.created) > 0 {
		r.Events.Eventf(g, nil, corev1.EventTypeNormal, apis.ReasonImported, "Import", "made %s known to the Argo CD of namespace %s: %s",
			count(len(o.created)), g.Spec.ArgoServer.ArgoNamespace, some(o.created))
	}
	if len(o.deleted) > 0 {
		r.Events.Eventf(g, nil, corev1.EventTypeNormal, apis.ReasonRemoved, "Remove", "removed %s: %s", count(len(o.deleted)), some(o.deleted))
	}
	r.warn(g, "Import", was, apis.ConditionReady)
	r.warn(g, "Remove", was, apis.ConditionClustersRemoved)
}

// warn records a condition that has become False, or is for another reason or cause.
func (r *Reconciler) warn(g *v1beta1.GitOpsCluster, action string, was []metav1.Condition, conditionType string) {
	is := meta.FindStatusCondition(g.Status.Conditions, conditionType)
	if is == nil || is.Status != metav1.ConditionFalse {
		return
	}
	if old := meta.FindStatusCondition(was, conditionType); old != nil && old.Reason == is.Reason && old.Message == is.Message {
		return
	}
	r.Events.Eventf(g, nil, corev1.EventTypeWarning, is.Reason, action, "%s", feedback.Clean(is.Message, maxNote))
}

// without is a list without some of its elements.
func without(list []string, unwanted ...string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(unwanted, s) {
			out = append(out, s)
		}
	}
	return out
}
