package feedback

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// editedAt precedes the mark of an edit in the message of ConditionCompared.
const editedAt = " edited "

// Parts of editSeen. m is the work agent's entry in the managed fields. ownFields is the number of fields in the
// entry, and allCounted the number of fields set by the work.
const (
	ownFields  = `size(` + ownText + `.split("{}")) - size(` + ownText + `.split("{.: {}"))`
	ownText    = `"%s".format([m.fieldsV1])`
	countedKey = `"` + apis.AnnotationFields + `"`
	countedOwn = `m.fieldsV1[?"f:metadata"][?"f:annotations"][?"f:` + apis.AnnotationFields + `"].hasValue()`
	allCounted = `object.metadata.annotations[` + countedKey + `]`
	isCounted  = countedOwn + ` && has(object.metadata.annotations) && ` + countedKey + ` in object.metadata.annotations && ` +
		allCounted + `.matches("^[0-9]{1,5}$")`
	agentsEntry = `m.manager == "` + workv1.DefaultFieldManager + `" && m.operation == "Apply" && has(m.fieldsV1) && has(m.time)`
)

// editSeen is a CEL expression for the mark of an edit. The mark is empty while the work agent owns all fields that the
// work sets. An API server removes a field from the agent's entry when a different client changes or removes the field.
// The mark has the time of the agent's last change of the Application, and the number of fields that the agent still
// owns. Therefore each edit after a repair has a new mark.
//
// Without an edit, the mark causes no write of the work. An Application under deletion has no mark.
const editSeen = `(has(object.metadata.deletionTimestamp) || !has(object.metadata.managedFields) ? "" : ` +
	`object.metadata.managedFields.filter(m, ` + agentsEntry + ` && !(` + isCounted + ` && ` + ownFields + ` >= int(` + allCounted + `)))` +
	`.map(m, "` + editedAt + `" + m.time + "_" + string(` + ownFields + `)).join(""))`

// editMark matches the mark of an edit.
var editMark = regexp.MustCompile(`^[0-9TZ:+.-]{1,40}_[0-9]{1,5}$`)

// edit returns the mark of an edit from ConditionCompared, with only the characters of a label value; empty for none.
func edit(conditions []metav1.Condition) string {
	c := meta.FindStatusCondition(conditions, ConditionCompared)
	if c == nil || c.Reason != workv1.ConditionRuleEvaluated || len(c.Message) > MaxMessage {
		return ""
	}
	_, mark, _ := strings.Cut(c.Message, editedAt)
	if !editMark.MatchString(mark) {
		return ""
	}
	return strings.NewReplacer(":", ".", "+", ".").Replace(mark)
}
