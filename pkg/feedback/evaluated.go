package feedback

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionSynced is a condition of a manifest. The work agent (v1.2.0, statuscontroller) reports whether all values of
// the rules were readable. The transition time is the start of the reported values.
const ConditionSynced = "StatusFeedbackSynced"

// failedRule matches the beginning of each unreadable rule in the condition's message.
var failedRule = regexp.MustCompile(`failed to |the length of returned |the type [^,]* of the value `)

// harmless matches messages about a failed rule with an unknown value, and without an effect on other values:
//   - the revision of a source added since the last comparison or sync: the list is shorter than the
//     Application's;
//   - an oversized list of several conditions or Degraded resources. An agent with the feature gate
//     RawFeedbackJsonString reports a list of all matches. DetailRule asks for the message of each condition alone.
var harmless = regexp.MustCompile(
	`failed to find value for (` + comparedPrefix + `|` + syncedPrefix + `|` + typePrefix + `)[0-9]+ with error: array index out of bounds` +
		`|the length of returned json raw string for name (degraded(Kind|Name|Message)|condition(Type|Message)) is larger `)

// evaluated returns whether the agent could evaluate all rules, apart from harmless failures. An unknown message of an
// agent counts as a failure, so that a missing value does not count as absent.
func evaluated(conditions []metav1.Condition) bool {
	c := meta.FindStatusCondition(conditions, ConditionSynced)
	if c == nil || c.Status == metav1.ConditionTrue {
		return c != nil
	}
	if len(c.Message) > maxSynced {
		return false
	}
	rest, found := strings.CutPrefix(c.Message, "Sync status feedback failed with error ")
	n := len(harmless.FindAllString(rest, -1))
	return found && n > 0 && n == len(failedRule.FindAllString(rest, -1))
}
