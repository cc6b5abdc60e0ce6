package feedback

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ConditionCompared is a condition of a manifest. The work agent sets the condition to True when the cluster's Argo CD
// has compared the Application since the end of its last operation. Without an operation, any comparison is enough.
const ConditionCompared = "Compared"

// The messages of a condition with the status False: after the end of an operation, and otherwise.
const (
	notSince = "not since "
	notYet   = "not yet"
)

// ComparedRules ask for ConditionCompared. If the condition is True, its message is a time not later than the
// comparison: the end of the last operation, or the creation of an Application without an operation. The message
// changes with operations, and rarely otherwise. In contrast, Argo CD (2 and 3) writes reconciledAt every few minutes.
// Therefore a work can always have these rules.
//
// The rules need agents and a hub of OCM 1.0 or later (API field conditionRules). Earlier hubs silently drop the field,
// and earlier agents do not report the condition. Then works ask for reconciledAt with VolatileRule while a user waits
// for the result.
//
// Works share the rules: callers must not change the rules.
func ComparedRules() []workv1.ConditionRule { return comparedRules }

// All times are in UTC and have whole seconds, so that their texts compare in order. An operation that waits for a
// retry has the phase Running, and the time when its last attempt ended.
var comparedRules = []workv1.ConditionRule{{
	Condition: ConditionCompared,
	Type:      workv1.CelConditionExpressionsType,
	CelExpressions: []string{
		`has(object.status) && has(object.status.reconciledAt) && (!has(object.status.operationState) || ` +
			`!(object.status.operationState.phase in ["Running", "Terminating"]) && has(object.status.operationState.finishedAt) && ` +
			`(object.status.operationState.finishedAt < object.status.reconciledAt || ` +
			`object.status.operationState.finishedAt == object.status.reconciledAt && !(` + calledForSync + `)))`,
	},
	MessageExpression: `(has(object.status) && has(object.status.operationState) ? ` +
		`(!has(object.status.operationState.finishedAt) ? "` + notYet + `" : ` +
		`(result ? "" : "` + notSince + `") + object.status.operationState.finishedAt) : ` +
		`result ? object.metadata.creationTimestamp : "` + notYet + `") + ` + editSeen,
}}

// calledForSync is a CEL expression: the comparison may be the cause of the last sync, instead of its result. The
// comparison and the start of the sync must be in the same second, and the sync must have succeeded. Many syncs take
// less than a second. Without the expression, notifications would report resources that are still OutOfSync in the
// comparison before the sync. After an automated sync, usually only the resources that the sync may not prune are
// OutOfSync. Other resources are OutOfSync, for example, if a program on the cluster changes the applied resources. In
// this case, the next comparison gives the answer, after some minutes. A sync by a user, perhaps of one resource,
// counts at once, because `argocd app sync` would wait.
//
// Argo CD compares without a new reconciledAt when a resource changes on the cluster. Therefore the result may become
// true long after the sync. The agent then withdraws its report of the comparison, but the hub still shows the
// comparison.
const calledForSync = `object.status.operationState.phase == "Succeeded" && ` +
	`object.status.operationState.startedAt == object.status.reconciledAt && ` +
	`has(object.status.operationState.operation.initiatedBy) && has(object.status.operationState.operation.initiatedBy.automated) && ` +
	`has(object.status.sync) && object.status.sync.status == "OutOfSync" && has(object.status.resources) && ` +
	`object.status.resources.exists(r, has(r.status) && r.status == "OutOfSync" && ` +
	`(!has(r.requiresPruning) || has(object.status.operationState.operation.sync) && has(object.status.operationState.operation.sync.prune)))`

// compared parses the agent's answer to ComparedRules. An agent of OCM before 1.0, as the replacement of a later agent,
// leaves the later agent's condition unchanged. Then the condition is not about the reported operation.
func (p *parsed) compared(conditions []metav1.Condition) (told bool, since string) {
	c := meta.FindStatusCondition(conditions, ConditionCompared)
	if p.uid == "" || c == nil || c.Reason != workv1.ConditionRuleEvaluated {
		return false, ""
	}
	at, o := "", &p.operation
	message, _, _ := strings.Cut(c.Message, editedAt)
	if text := strings.TrimPrefix(message, notSince); text != notYet && !(value{Type: workv1.String, String: &text}).time(&at) {
		return false, ""
	}
	hasCompared, hadNone := c.Status == metav1.ConditionTrue, o.Phase == "" && o.FinishedAt == ""
	switch {
	case at != o.FinishedAt && (!hasCompared || !hadNone):
		return false, ""
	case hasCompared:
		return true, at
	}
	return true, ""
}
