package delivery

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// Shown tells whether a type of condition is one that a plan lists: it says why the Application cannot be sent, what takes
// its time, or what holds until somebody changes it. They are propagation's alone.
func Shown(conditionType string) bool {
	return conditionType != apis.ConditionRefreshWarning && apis.ConditionRuleOf(conditionType).Owner == apis.OwnerPropagation
}

// notice tells whether the condition shows no problem.
func (c Condition) notice() bool { return apis.ConditionRuleOf(c.Type).Lasts }

func (c Condition) message() string { return feedback.Clean(c.Message, feedback.MaxMessage) }

func (c Condition) shownBy(there argocd.Condition) bool {
	return c.Type == there.Type && c.message() == there.Message
}

// showing is a list of conditions that shows just those of propagation's, and none that an older controller left. All other
// conditions stay as they are.
func showing(before []argocd.Condition, show []Condition, now metav1.Time) []argocd.Condition {
	wanted := make([]argocd.Condition, len(show))
	for i, c := range show {
		wanted[i] = argocd.Condition{Type: c.Type, Message: c.message()}
	}
	return argocd.SetConditions(before, wanted, cleared, now)
}

// cleared tells whether conditions of a type go where none is wanted: propagation's own, and those that an older controller left.
func cleared(conditionType string) bool {
	return Shown(conditionType) || conditionType == apis.ConditionAdditionalStatusReport
}

// refreshing is a list of conditions with what became of a refresh; with none for an empty warning.
func refreshing(before []argocd.Condition, warning string, now metav1.Time) []argocd.Condition {
	var wanted []argocd.Condition
	if warning != "" { // each refresh is one of its own, whatever it says
		wanted = append(wanted, argocd.Condition{Type: apis.ConditionRefreshWarning, LastTransitionTime: &now, Message: warning})
	}
	return argocd.SetConditions(before, wanted, func(t string) bool { return t == apis.ConditionRefreshWarning }, now)
}

// shows tells whether the Application shows a condition of propagation's.
func shows(app *argocd.Application) bool {
	return slices.ContainsFunc(app.Status.Conditions, func(c argocd.Condition) bool { return Shown(c.Type) })
}

// has tells whether the Application shows a condition of that type.
func has(app *argocd.Application, conditionType string) bool {
	return argocd.IndexCondition(app.Status.Conditions, conditionType) >= 0
}
