package status

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/work"
)

// hubConditions returns the conditions about problems between the hub and the cluster, for users of the Application.
func (r *Reconciler) hubConditions(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) ([]argocd.Condition, error) {
	conditions := workConditions(w, app)
	cluster := &clusterv1.ManagedCluster{}
	err := r.Get(ctx, types.NamespacedName{Name: app.Cluster()}, cluster, client.UnsafeDisableDeepCopy)
	if err != nil {
		return conditions, client.IgnoreNotFound(err) // propagation reports a missing cluster
	}
	if c := unreachable(cluster); c != nil {
		conditions = append(conditions, *c)
	}
	return conditions, nil
}

// workConditions returns the conditions about the work agent's problems with the Application. A missing work has none.
func workConditions(w *workv1.ManifestWork, app *argocd.Application) []argocd.Condition {
	var out []argocd.Condition
	for _, t := range []struct{ work, shown, text string }{
		{workv1.WorkApplied, apis.ConditionWorkApplyError, "could not apply"},
		{workv1.WorkAvailable, apis.ConditionWorkAvailableWarning, "does not find"},
	} {
		c := feedback.WorkCondition(&w.Status, work.Identifier(app), t.work)
		if c == nil || c.Status != metav1.ConditionFalse {
			continue
		}
		if t.work == workv1.WorkApplied && work.Retried(w, app) {
			continue // the Application on the cluster has changed during a request, as in every request
		}
		if t.work == workv1.WorkAvailable && !w.DeletionTimestamp.IsZero() {
			continue // the cluster removes the Application, as requested by the hub
		}
		message := "the work agent of cluster " + w.Namespace + " " + t.text + " the Application: " + c.Message
		out = append(out, argocd.Condition{Type: t.shown, Message: feedback.Clean(message, feedback.MaxMessage)})
	}
	return out
}

// unreachable returns the condition for the Applications of an unavailable cluster; nil for an available cluster. The
// time is from the cluster's own condition.
func unreachable(cluster *clusterv1.ManagedCluster) *argocd.Condition {
	why := managedcluster.Unreachable(cluster)
	if why == "" {
		return nil
	}
	since := cluster.CreationTimestamp
	if c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); c != nil {
		since = c.LastTransitionTime
	}
	message := why + "; the shown state of the Application is the last reported state"
	return &argocd.Condition{
		Type: apis.ConditionClusterUnreachableWarning, Message: feedback.Clean(message, feedback.MaxMessage), LastTransitionTime: &since,
	}
}

// age returns the conditions about outdated information on the Application. Their times are the last times at which the
// information was known to be correct.
func age(app *argocd.Application, facts *observed.Facts) []argocd.Condition {
	if facts == nil {
		return nil
	}
	var out []argocd.Condition
	add := func(conditionType string, since metav1.Time, format string) {
		if since.IsZero() {
			return
		}
		since = since.Rfc3339Copy() // the precision of the API server
		message := fmt.Sprintf(format, app.Cluster(), since.UTC().Format(time.RFC3339))
		out = append(out, argocd.Condition{
			Type: conditionType, Message: feedback.Clean(message, feedback.MaxMessage), LastTransitionTime: &since,
		})
	}
	add(apis.ConditionNotCompared, facts.NotComparedSince, "the Argo CD of cluster %s has not compared the Application with Git since %s; "+
		"the shown state is from that time. Check that the application controller of that cluster is running")
	add(apis.ConditionResourcesStale, facts.StaleSince, "ACM Search has not answered for cluster %s since %s; "+
		"the shown resources are from that time. Check the log of towline-controller for the cause")
	return out
}
