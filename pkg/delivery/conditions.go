package delivery

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

const pausedType = apis.ConditionPausedWarning

// problems are the types of the conditions that show why an Application cannot be sent; notices of those that show what takes
// its time, or holds until somebody changes it. Both are propagation's alone.
var (
	problems = []string{apis.ConditionPropagationError, apis.ConditionPropagationForbiddenError}
	notices  = []string{
		apis.ConditionPausedWarning, apis.ConditionReleaseWarning, apis.ConditionMoveWarning, apis.ConditionDeletionWarning,
	}
)

// Shown tells whether a condition is propagation's to set and clear.
func Shown(c argocd.Condition) bool {
	return slices.Contains(problems, c.Type) || slices.Contains(notices, c.Type)
}

// notice tells whether the condition shows no problem.
func (c Condition) notice() bool { return slices.Contains(notices, c.Type) }

func (c Condition) message() string { return feedback.Clean(c.Message, feedback.MaxMessage) }

func (c Condition) shownBy(there argocd.Condition) bool {
	return c.Type == there.Type && c.message() == there.Message
}

// in is the condition in the place of the one before, of its type or of none.
func (c Condition) in(before argocd.Condition, now metav1.Time) argocd.Condition {
	if c.shownBy(before) {
		return before
	}
	out := argocd.Condition{Type: c.Type, Message: c.message(), LastTransitionTime: &now}
	if c.notice() && before.LastTransitionTime != nil {
		out.LastTransitionTime = before.LastTransitionTime // since when it takes its time
	}
	return out
}

// showing is a list of conditions that shows just those of propagation's. All other conditions stay as they are.
func showing(before []argocd.Condition, show []Condition, now metav1.Time) []argocd.Condition {
	left := slices.Clone(show)
	out := make([]argocd.Condition, 0, len(before)+len(left))
	for _, c := range before {
		if !Shown(c) {
			out = append(out, c)
			continue
		}
		i := slices.IndexFunc(left, func(s Condition) bool { return s.Type == c.Type })
		if i >= 0 {
			out = append(out, left[i].in(c, now))
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, s := range left {
		out = append(out, s.in(argocd.Condition{}, now))
	}
	return out
}

// refreshing is a list of conditions with what became of a refresh; with none for an empty warning.
func refreshing(before []argocd.Condition, warning string, now metav1.Time) []argocd.Condition {
	out := slices.DeleteFunc(slices.Clone(before), func(c argocd.Condition) bool { return c.Type == apis.ConditionRefreshWarning })
	if warning != "" {
		out = append(out, argocd.Condition{Type: apis.ConditionRefreshWarning, LastTransitionTime: ptr.To(now), Message: warning})
	}
	return out
}

// has tells whether the Application shows a condition of that type.
func has(app *argocd.Application, conditionType string) bool {
	return slices.ContainsFunc(app.Status.Conditions, func(c argocd.Condition) bool { return c.Type == conditionType })
}
