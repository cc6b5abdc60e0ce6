package argocd

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// SetConditions returns the list before with the wanted conditions, at most one of each type. An unwanted condition is
// removed if owned returns true for its type, and stays otherwise. The order of the list stays.
//
// A condition keeps its time while its message stays. With a new message, the condition gets the time now, or keeps the
// earlier time if apis.ConditionRule.Lasts is true. A wanted condition with a time keeps this time.
//
// Every writer of a hub Application's conditions uses SetConditions. The list has no merge key in Argo CD's schema, so
// each write replaces the whole list.
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

// since returns the condition with its time. before is the earlier condition of the same type.
func (c Condition) since(before Condition, now metav1.Time) Condition {
	switch {
	case c.LastTransitionTime != nil:
	case before.Type == c.Type && (before.Message == c.Message || apis.ConditionRuleOf(c.Type).Lasts) && before.LastTransitionTime != nil:
		c.LastTransitionTime = before.LastTransitionTime
	case before.Type == c.Type && before.Message == c.Message: // the earlier condition has no time
	default:
		c.LastTransitionTime = &now
	}
	return c
}

// SameConditions returns whether two lists are equal, including times and order.
func SameConditions(a, b []Condition) bool {
	return slices.EqualFunc(a, b, func(x, y Condition) bool {
		return x.Type == y.Type && x.Message == y.Message && x.LastTransitionTime.Equal(y.LastTransitionTime)
	})
}

// IndexCondition returns the index of the condition with the given type; -1 for none.
func IndexCondition(list []Condition, conditionType string) int {
	return slices.IndexFunc(list, func(c Condition) bool { return c.Type == conditionType })
}
