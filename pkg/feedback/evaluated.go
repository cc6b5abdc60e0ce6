package feedback

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionSynced is the condition of a manifest by which the work agent (v1.2.0, statuscontroller) tells whether it could
// read everything that the rules ask for, and since when it reads what it reports.
const ConditionSynced = "StatusFeedbackSynced"

// failedRule begins, in the message of that condition, each rule that the agent could not read.
var failedRule = regexp.MustCompile(`failed to |the length of returned |the type [^,]* of the value `)

// harmless is what the agent says where nothing can be known of one value, which is no defect of the others:
//   - the revision of a source that has been added since the last comparison or sync: the list is shorter than the
//     Application's;
//   - what is said of several Degraded resources, by an agent with the feature gate RawFeedbackJsonString, which reports a list
//     of all: too long a list.
var harmless = regexp.MustCompile(
	`failed to find value for (` + comparedPrefix + `|` + syncedPrefix + `|` + typePrefix + `)[0-9]+ with error: array index out of bounds` +
		`|the length of returned json raw string for name degraded(Kind|Name|Message) is larger `)

// evaluated tells whether the agent could read all that there is to read. Words of an agent that are not known here
// count as a failure: then what is missing is not taken to be gone.
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
