package argocd

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// SetConditions returns the list before with the wanted conditions in it, at most one of a type. A type that is not wanted
// goes where owned says that it is the caller's; all others stay, and so does the order of the list.
//
// A condition keeps its time as long as it says the same. With another message it has the time now, or keeps the earlier
// one where apis.ConditionRule.Lasts says so; a wanted condition that has a time of its own keeps that.
//
// Every writer of a hub Application's conditions uses it. The list has no merge key in Argo CD's schema: whoever writes
// it replaces it.
func SetConditions(before, wanted []Condition, owned func(conditionType string) bool, now metav1.Time) []Condition {
	out := make([]Condition, 0, len(before)+len(wanted))
	for _, c := range before {
		switch i := IndexCondition(wanted, c.Type); {
		case i < 0 && !owned(c.Type):
			out = append(out, c)
		case i >= 0 && IndexCondition(out, c.Type) < 0:
			out = append(out, wanted[i].since(c, now))
		}
	}
	for _, c := range wanted {
		if IndexCondition(out, c.Type) < 0 {
			out = append(out, c.since(Condition{}, now))
		}
	}
	return out
}

// since is the condition with its time, by the one of the same type that was there before.
func (c Condition) since(before Condition, now metav1.Time) Condition {
	switch {
	case c.LastTransitionTime != nil:
	case before.Type == c.Type && (before.Message == c.Message || apis.ConditionRuleOf(c.Type).Lasts) && before.LastTransitionTime != nil:
		c.LastTransitionTime = before.LastTransitionTime
	case before.Type == c.Type && before.Message == c.Message: // it never had one
	default:
		c.LastTransitionTime = &now
	}
	return c
}

// SameConditions tells whether two lists say the same, with the same times, in the same order.
func SameConditions(a, b []Condition) bool {
	return slices.EqualFunc(a, b, func(x, y Condition) bool {
		return x.Type == y.Type && x.Message == y.Message && x.LastTransitionTime.Equal(y.LastTransitionTime)
	})
}

// IndexCondition is where the list has a condition of that type; -1 for nowhere.
func IndexCondition(list []Condition, conditionType string) int {
	return slices.IndexFunc(list, func(c Condition) bool { return c.Type == conditionType })
}
