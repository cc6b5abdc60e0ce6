package feedback

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ConditionCompared is the condition of a manifest by which the work agent tells whether the cluster's Argo CD has compared the Application
// since its last operation ended, or at all where it has had none.
const ConditionCompared = "Compared"

// What a condition that is False says: of an operation that has ended, and otherwise.
const (
	notSince = "not since "
	notYet   = "not yet"
)

// ComparedRules ask for ConditionCompared. Where it is True, its message is a time at or after which the Application was compared: when its
// last operation ended, and where it has had none, when it was made. Unlike reconciledAt, which Argo CD (2 and 3) writes every few minutes,
// that changes with operations, and rarely otherwise: so a work can ask for it at all times.
//
// It needs agents and a hub of OCM 1.0 or later (API field conditionRules). Earlier hubs drop it without a word, and earlier agents say
// nothing: then works ask for reconciledAt while somebody waits for it, by VolatileRule.
//
// Works share them: nobody changes them.
func ComparedRules() []workv1.ConditionRule { return comparedRules }

// All times are in UTC and have whole seconds, so that their texts are in order. An operation that waits before it tries again is Running, and
// has the time when its last attempt ended.
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

// calledForSync tells whether a comparison in the second in which a sync has begun and succeeded may be the one that called for it. Many syncs
// take less than a second, and notifications would tell of them with resources that are still OutOfSync. An automated sync usually leaves none
// but those that it may not prune. Where it leaves others, as where something on the cluster changes what it has applied, the next comparison
// tells, after some minutes. A sync that somebody has asked for, perhaps of one resource, is told of at once: `argocd app sync` would wait.
//
// Argo CD compares without a new reconciledAt when a resource changes on the cluster. So this may become true long after the sync: then the
// agent takes back what it has told of the comparison, and the hub shows it all the same.
const calledForSync = `object.status.operationState.phase == "Succeeded" && ` +
	`object.status.operationState.startedAt == object.status.reconciledAt && ` +
	`has(object.status.operationState.operation.initiatedBy) && has(object.status.operationState.operation.initiatedBy.automated) && ` +
	`has(object.status.sync) && object.status.sync.status == "OutOfSync" && has(object.status.resources) && ` +
	`object.status.resources.exists(r, has(r.status) && r.status == "OutOfSync" && ` +
	`(!has(r.requiresPruning) || has(object.status.operationState.operation.sync) && has(object.status.operationState.operation.sync.prune)))`

// compared takes what the agent says of ComparedRules. An agent of OCM before 1.0 does not touch the condition that a later one has set, which
// it has replaced: then the condition is not about the operation which is reported.
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
