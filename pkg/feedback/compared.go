package feedback

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// ConditionCompared is a condition of a manifest. The work agent sets the condition to True when the cluster's Argo CD
// has compared the Application since the end of its last operation. Without an operation, any comparison is enough. The
// condition says nothing while an operation runs.
const ConditionCompared = "Compared"

// ConditionUnedited is a condition of a manifest. The work agent sets the condition to True while the agent owns all
// fields set by the work. An API server removes a field from the agent's managed fields when a different client changes
// or removes the field. The condition is also True for an Application under deletion.
const ConditionUnedited = "Unedited"

// ConditionRules ask for ConditionCompared and ConditionUnedited. Both conditions change with operations and edits, and
// rarely otherwise. In contrast, Argo CD (2 and 3) writes reconciledAt every few minutes. Therefore a work can always
// have these rules.
//
// The agent (v1.2.0) compiles each expression at every look at the Application. So the expressions are short, and have
// no expression for the message, which would be a second compilation: the rules cost the agent a quarter of earlier
// rules with the times in messages.
//
// The rules need agents and a hub of OCM 1.0 or later (API field conditionRules). Earlier hubs silently drop the field,
// and earlier agents do not report the conditions. Then works ask for reconciledAt with VolatileRule while a user waits
// for the result.
//
// Works share the rules: callers must not change the rules.
func ConditionRules() []workv1.ConditionRule { return conditionRules }

var conditionRules = []workv1.ConditionRule{
	{Condition: ConditionCompared, Type: workv1.CelConditionExpressionsType, CelExpressions: []string{isCompared}},
	{Condition: ConditionUnedited, Type: workv1.CelConditionExpressionsType, CelExpressions: []string{isUnedited}},
}

// isCompared compares two times in UTC with whole seconds, whose texts compare in order. A missing comparison is before
// a missing operation.
const isCompared = `object.?status.?reconciledAt.orValue("") >= object.?status.?operationState.?finishedAt.orValue("0")`

// isUnedited compares the number of fields in the agent's entry in the managed fields with the number of fields set by
// the work. An entry for an object without a schema has an additional field ".". If a client changes the annotation to
// another number, an edit is visible only after the next apply, which the agent repeats every 4 to 6 minutes.
const isUnedited = `has(object.metadata.deletionTimestamp) || object.metadata.managedFields.exists(m, ` +
	`m.manager == "` + workv1.DefaultFieldManager + `" && m.operation == "Apply" && ` +
	`size("%s".format([m.fieldsV1]).replace("{.: {}", "").split("{}")) > int(object.metadata.annotations["` + apis.AnnotationFields + `"]))`

// compared parses the agent's answer about ConditionCompared. told is true if the agent has answered. since is a time
// not later than the comparison: the end of the last operation, or the creation of an Application without an operation.
// since is empty without a comparison.
//
// Condition and values come from one look of the agent. An agent of OCM before 1.0, as the replacement of a later
// agent, leaves the later agent's condition unchanged until the next change of the work.
func (p *parsed) compared(conditions []metav1.Condition) (told bool, since string) {
	c := meta.FindStatusCondition(conditions, ConditionCompared)
	o := &p.operation
	switch {
	case p.uid == "" || c == nil || c.Reason != workv1.ConditionRuleEvaluated:
		return false, ""
	case c.Status != metav1.ConditionTrue || o.Running():
		return true, ""
	case o.Phase != "":
		told = o.FinishedAt != "" && !p.mayPrecede()
		return told, o.FinishedAt
	}
	return p.createdAt != "", p.createdAt
}

// mayPrecede reports whether the comparison may be the cause of the last sync, instead of the result of the sync. Many
// syncs take less than a second, so comparison and sync may have the same time. Notifications would report resources
// that are still OutOfSync in the comparison before the sync. A sync by a user counts at once, because `argocd app
// sync` would wait.
func (p *parsed) mayPrecede() bool {
	o := &p.operation
	return o.Phase == "Succeeded" && o.StartedAt == o.FinishedAt && p.by.Automated && p.sync.Status == "OutOfSync"
}
