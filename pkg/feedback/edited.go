package feedback

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// appliedAtName is the feedback name of the time when the work agent last changed the Application.
const appliedAtName = "agentAppliedAt"

// appliedAtPath is the path of the time when the work agent last changed the Application. An edit by a different client
// does not change the time. Entries of applies come before entries of updates (API server 1.30 to 1.36).
const appliedAtPath = `.metadata.managedFields[?(@.manager=="` + workv1.DefaultFieldManager + `")].time`

// mark matches the time of a change.
var mark = regexp.MustCompile(`^[0-9TZ:+.-]{1,40}$`)

func isMark(s string) bool { return mark.MatchString(s) }

// edit returns the mark of an edit from ConditionUnedited: the time of the agent's last change of the Application, with
// only the characters of a label value. So each edit after a repair has a new mark. The mark is empty without an edit.
// The rule has an error if an edit has removed AnnotationFields.
func (p *parsed) edit(conditions []metav1.Condition) string {
	c := meta.FindStatusCondition(conditions, ConditionUnedited)
	if c == nil || c.Status != metav1.ConditionFalse ||
		c.Reason != workv1.ConditionRuleEvaluated && c.Reason != workv1.ConditionRuleExpressionError {
		return ""
	}
	return strings.NewReplacer(":", ".", "+", ".").Replace(p.appliedAt)
}
