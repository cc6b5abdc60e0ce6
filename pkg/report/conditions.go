package report

import (
	"regexp"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/observed"
)

// maxConditions is the maximum number of a cluster's conditions in a row. Argo CD has about as many types, and one
// hostile cluster must not fill the report.
const maxConditions = 10

// ofHub returns whether the hub owns the condition type in rows. A cluster cannot set or clear a condition of the hub.
func ofHub(conditionType string) bool {
	return slices.ContainsFunc(apis.ConditionRules, func(r apis.ConditionRule) bool {
		return r.Owner != apis.OwnerCluster && (conditionType == r.Type || conditionType == r.Row)
	})
}

// clusterConditions returns the cluster's conditions, from the observation and the previous row.
func clusterConditions(before *v1alpha1.ClusterCondition, seen *observed.Facts) []v1alpha1.Condition {
	out := make([]v1alpha1.Condition, 0, len(seen.Status.Conditions)+1)
	add := func(conditionType, message string) {
		taken := func(c v1alpha1.Condition) bool { return c.Type == conditionType }
		if len(out) < maxConditions && !ofHub(conditionType) && !slices.ContainsFunc(out, taken) {
			out = append(out, v1alpha1.Condition{Type: conditionType, Message: feedback.Clean(message, maxMessage)})
		}
	}
	for _, c := range seen.Status.Conditions {
		add(c.Type, c.Message)
	}
	if why := operationError(before, seen.Status.OperationState); why != "" && !has(out, "SyncError") {
		add(apis.ConditionOperationError, why)
	}
	if why := observed.WhyDegraded(&seen.Status); why != "" {
		add(apis.ConditionResourcesDegraded, why)
	}
	for _, c := range before.Conditions {
		if !over(c.Type, seen) {
			add(c.Type, c.Message)
		}
	}
	return out
}

// operationError returns the error of a failed operation; empty without a failure. While Argo CD 3 retries, its message
// has only the retry. In this case operationError returns the message of the previous attempt.
func operationError(before *v1alpha1.ClusterCondition, o *argocd.OperationState) string {
	if o == nil || !failed(o.Phase) && !observed.Retrying(o) {
		return ""
	}
	if observed.Retrying(o) && o.FinishedAt == "" && before.OperationStateStartedAt == o.StartedAt {
		for _, c := range before.Conditions {
			if c.Type == apis.ConditionOperationError {
				return c.Message
			}
		}
	}
	return steady(o.Message)
}

// again matches the end of a message about a retry (Argo CD 2 and 3): the number and the time of the next attempt.
var again = regexp.MustCompile(`\. Retrying attempt #[^\n]*$`)

// steady returns the message without the number and the time of the next attempt. Otherwise each attempt would change
// the row.
func steady(message string) string {
	return again.ReplaceAllString(message, ". Argo CD tries it again.")
}

// over returns whether a condition of the cluster, missing in the observation, has ended.
func over(conditionType string, seen *observed.Facts) bool {
	if seen.Hydrating && conditionType == apis.ConditionHydrationError {
		return false
	}
	return seen.Complete || seen.ConditionsComplete ||
		conditionType == apis.ConditionOperationError && seen.Status.OperationState != nil ||
		conditionType == apis.ConditionResourcesDegraded && seen.Status.Health.Status != "" && seen.Status.Health.Status != "Degraded"
}

// hubConditions returns the hub's own findings about the Application or its path to the cluster.
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

// HubConditions returns the Application's conditions with a hub-owned row type. The unavailability of the cluster is
// not included: the row must show the current state, but the Application has the state of its last write.
func HubConditions(app *argocd.Application) []argocd.Condition {
	var out []argocd.Condition
	for _, c := range app.Status.Conditions {
		r := apis.ConditionRuleOf(c.Type)
		if r.Row == c.Type && r.Owner != apis.OwnerCluster {
			out = append(out, c)
		}
	}
	return out
}

func has(conditions []v1alpha1.Condition, conditionType string) bool {
	return slices.ContainsFunc(conditions, func(c v1alpha1.Condition) bool { return c.Type == conditionType })
}

// failed returns whether an operation ended badly.
func failed(phase string) bool { return phase == "Failed" || phase == "Error" }
