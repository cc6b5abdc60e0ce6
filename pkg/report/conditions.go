package report

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxConditions is how many of a cluster's conditions a row shows: Argo CD has about as many types, and one hostile
// cluster must not fill the report.
const maxConditions = 10

// ofHub are the types of the conditions that only the hub knows of; a cluster cannot set or clear them.
var ofHub = []string{
	apis.ConditionPropagationError,
	apis.ConditionPropagationForbiddenError,
	apis.ConditionPausedWarning,
	apis.ConditionReleaseWarning,
	apis.ConditionMoveWarning,
	apis.ConditionDeletionWarning,
	apis.ConditionWorkApplyError,
	apis.ConditionWorkAvailableWarning,
	apis.ConditionClusterUnreachable,
}

// clusterConditions are the cluster's conditions by what is seen now and what was known before.
func clusterConditions(known []v1alpha1.Condition, seen *Seen) []v1alpha1.Condition {
	out := make([]v1alpha1.Condition, 0, len(seen.Status.Conditions)+1)
	add := func(conditionType, message string) {
		taken := func(c v1alpha1.Condition) bool { return c.Type == conditionType }
		if len(out) < maxConditions && !slices.Contains(ofHub, conditionType) && !slices.ContainsFunc(out, taken) {
			out = append(out, v1alpha1.Condition{Type: conditionType, Message: feedback.Clean(message, maxMessage)})
		}
	}
	for _, c := range seen.Status.Conditions {
		add(c.Type, c.Message)
	}
	if o := seen.Status.OperationState; o != nil && failed(o.Phase) && o.Message != "" && !has(out, "SyncError") {
		add(apis.ConditionOperationError, o.Message)
	}
	for _, c := range known {
		if !over(c.Type, seen) {
			add(c.Type, c.Message)
		}
	}
	return out
}

// over tells whether a condition of the cluster that is not seen now has ended.
func over(conditionType string, seen *Seen) bool {
	return seen.Complete || seen.ConditionsComplete ||
		conditionType == apis.ConditionOperationError && seen.Status.OperationState != nil
}

// hubConditions are what the hub itself knows to be wrong with the Application or its way to the cluster.
func hubConditions(app *argocd.Application, unreachable string) []v1alpha1.Condition {
	var out []v1alpha1.Condition
	for _, c := range HubConditions(app) {
		out = append(out, v1alpha1.Condition{Type: c.Type, Message: feedback.Clean(c.Message, maxMessage)})
	}
	if unreachable != "" {
		message := feedback.Clean(unreachable, maxMessage)
		out = append(out, v1alpha1.Condition{Type: apis.ConditionClusterUnreachable, Message: message})
	}
	return out
}

// HubConditions are those of the Application's conditions that a row takes from the hub.
func HubConditions(app *argocd.Application) []argocd.Condition {
	var out []argocd.Condition
	for _, c := range app.Status.Conditions {
		if slices.Contains(ofHub, c.Type) && c.Type != apis.ConditionClusterUnreachable {
			out = append(out, c)
		}
	}
	return out
}

// Unreachable says since when, and why, nothing can be heard of the cluster; it is empty when the cluster is
// available. As Open Cluster Management has it, a cluster that has never said so is not.
func Unreachable(cluster *clusterv1.ManagedCluster) string {
	c := available(cluster)
	switch {
	case c == nil:
		return fmt.Sprintf("cluster %s has not been available so far, since %s", cluster.Name, utc(cluster.CreationTimestamp))
	case c.Status == metav1.ConditionTrue:
		return ""
	}
	return fmt.Sprintf("cluster %s has not been available since %s: %s", cluster.Name, utc(c.LastTransitionTime), c.Message)
}

// CameOrWent tells whether a cluster can be heard of in one of two states only, or since another time. The words of its
// condition do not count: they change as often as anyone likes, and give nobody more to do.
func CameOrWent(before, after *clusterv1.ManagedCluster) bool {
	x, y := available(before), available(after)
	if x == nil || y == nil {
		return x != y
	}
	return x.Status != y.Status || x.Status != metav1.ConditionTrue && !x.LastTransitionTime.Equal(&y.LastTransitionTime)
}

func available(cluster *clusterv1.ManagedCluster) *metav1.Condition {
	return meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
}

func utc(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

func has(conditions []v1alpha1.Condition, conditionType string) bool {
	return slices.ContainsFunc(conditions, func(c v1alpha1.Condition) bool { return c.Type == conditionType })
}

// failed tells whether an operation ended badly.
func failed(phase string) bool { return phase == "Failed" || phase == "Error" }
