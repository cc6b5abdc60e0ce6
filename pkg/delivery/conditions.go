package delivery

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/relay"
)

// Shown reports whether a plan can contain conditions of the type: obstacles to the delivery, operations under way,
// and lasting states. Only propagation writes these types.
func Shown(conditionType string) bool {
	return conditionType != apis.ConditionRefreshWarning && apis.ConditionRuleOf(conditionType).Owner == apis.OwnerPropagation
}

// notice reports whether the condition is not a problem.
func (c Condition) notice() bool { return apis.ConditionRuleOf(c.Type).Lasts }

func (c Condition) message() string { return feedback.Clean(c.Message, feedback.MaxMessage) }

func (c Condition) shownBy(there argocd.Condition) bool {
	return c.Type == there.Type && c.message() == there.Message
}

// showing returns the conditions with exactly the given conditions of propagation. Conditions of other writers stay, unless
// cleared.
func showing(before []argocd.Condition, show []Condition, now metav1.Time) []argocd.Condition {
	wanted := make([]argocd.Condition, len(show))
	for i, c := range show {
		wanted[i] = argocd.Condition{Type: c.Type, Message: c.message()}
	}
	return argocd.SetConditions(before, wanted, cleared, now)
}

// cleared reports whether an undesired condition of the type is removed.
func cleared(conditionType string) bool {
	return Shown(conditionType) || conditionType == apis.ConditionAdditionalStatusReport
}

// refreshing returns the conditions with the result of a refresh; without a result for an empty warning.
func refreshing(before []argocd.Condition, warning string, now metav1.Time) []argocd.Condition {
	var wanted []argocd.Condition
	if warning != "" { // each refresh has its own transition time, even with an equal message
		wanted = append(wanted, argocd.Condition{Type: apis.ConditionRefreshWarning, LastTransitionTime: &now, Message: warning})
	}
	return argocd.SetConditions(before, wanted, func(t string) bool { return t == apis.ConditionRefreshWarning }, now)
}

// untilDrop returns the time until a refresh may be dropped: at once, but at most once per RefreshDeadline. The ApplicationSet
// controller of Argo CD 3.6 requests a dropped refresh again at once, and without the delay, both controllers would write the
// Application without end.
func untilDrop(app *argocd.Application, now time.Time) time.Duration {
	i := argocd.IndexCondition(app.Status.Conditions, apis.ConditionRefreshWarning)
	if i < 0 || app.Status.Conditions[i].LastTransitionTime == nil {
		return 0
	}
	since := now.Sub(app.Status.Conditions[i].LastTransitionTime.Time)
	if since < 0 {
		return 0
	}
	return max(0, relay.RefreshDeadline-since)
}

// shows reports whether the Application shows a condition of propagation.
func shows(app *argocd.Application) bool {
	return slices.ContainsFunc(app.Status.Conditions, func(c argocd.Condition) bool { return Shown(c.Type) })
}

// has reports whether the Application shows a condition of the type.
func has(app *argocd.Application, conditionType string) bool {
	return argocd.IndexCondition(app.Status.Conditions, conditionType) >= 0
}
