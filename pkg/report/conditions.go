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

// maxConditions is how many of a cluster's conditions a row shows: Argo CD has about as many types, and one hostile
// cluster must not fill the report.
const maxConditions = 10

// ofHub tells whether rows have a type of condition from the hub; a cluster cannot set or clear those.
func ofHub(conditionType string) bool {
	return slices.ContainsFunc(apis.ConditionRules, func(r apis.ConditionRule) bool {
		return r.Owner != apis.OwnerCluster && (conditionType == r.Type || conditionType == r.Row)
	})
}

// clusterConditions are the cluster's conditions by what is seen now and by the row that was known before.
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

// operationError is why an operation failed; empty where it did not. While Argo CD 3 tries it again, the message tells only
// that: then the one of the attempt before stays.
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

// again is what Argo CD (2 and 3) appends to the message of an attempt that it will make again: which attempt, and when.
var again = regexp.MustCompile(`\. Retrying attempt #[^\n]*$`)

// steady is the message without the number and the time of the next attempt: the row would be written anew for each.
func steady(message string) string {
	return again.ReplaceAllString(message, ". Argo CD tries it again.")
}

// over tells whether a condition of the cluster that is not seen now has ended.
func over(conditionType string, seen *observed.Facts) bool {
	if seen.Hydrating && conditionType == apis.ConditionHydrationError {
		return false
	}
	return seen.Complete || seen.ConditionsComplete ||
		conditionType == apis.ConditionOperationError && seen.Status.OperationState != nil ||
		conditionType == apis.ConditionResourcesDegraded && seen.Status.Health.Status != "" && seen.Status.Health.Status != "Degraded"
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

// HubConditions are those of the Application's conditions that a row takes from the hub. That the cluster is not available is
// not among them: the row says what is so now, and the Application what was so when it was written.
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

// failed tells whether an operation ended badly.
func failed(phase string) bool { return phase == "Failed" || phase == "Error" }
