package feedback

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// MaxSources is for how many sources of an Application a revision is asked for. An Application with more shows
// the revisions of its first ones.
const MaxSources = 16

// ConditionTypes are the types of the conditions that Argo CD 2 and 3 set on an Application
// (pkg/apis/application/v1alpha1/types.go). A message is asked for each.
var ConditionTypes = []string{
	"ComparisonError",
	"DeletionError",
	"ExcludedResourceWarning",
	"InvalidSpecError",
	"OrphanedResourceWarning",
	"RepeatedResourceWarning",
	"SharedResourceWarning",
	"SyncError",
	"UnknownError",
}

// rule is one value that is asked for, and what takes it into a status once it has come back.
type rule struct {
	name, path string
	take       func(*parsed, value) bool
}

// parsed is a status while it is being put together: parts that are only of use with others are kept apart until
// all are there.
type parsed struct {
	status    argocd.Status
	sync      argocd.Sync
	operation argocd.OperationState
	result    argocd.SyncResult
	by        argocd.Initiator
	version   string
	uid       string

	// degraded is the first resource that is Degraded; its health has the message.
	degraded        argocd.ResourceStatus
	degradedMessage string

	taken, pending string

	hydration, hydrationMessage string

	refreshRequest           string
	refreshPending, starting bool
}

// scalars are the rules of every Application. The first five names are read by other software too.
var scalars = []rule{
	{"healthStatus", ".status.health.status", func(p *parsed, v value) bool { return v.oneOf(&p.status.Health.Status, argocd.HealthCodes) }},
	{"syncStatus", ".status.sync.status", func(p *parsed, v value) bool { return v.oneOf(&p.sync.Status, argocd.SyncCodes) }},
	{"operationStatePhase", ".status.operationState.phase", func(p *parsed, v value) bool { return v.oneOf(&p.operation.Phase, argocd.OperationPhases) }},
	{"operationStateStartedAt", ".status.operationState.startedAt", func(p *parsed, v value) bool { return v.time(&p.operation.StartedAt) }},
	{"syncRevision", ".status.sync.revision", func(p *parsed, v value) bool { return v.revision(&p.sync.Revision) }},
	// Which Application was read. Every Application has one.
	{"uid", ".metadata.uid", func(p *parsed, v value) bool { return v.word(&p.uid) }},
	// Its first finalizer; see Cascades. A path without a filter costs the agent less than one that looks for a finalizer.
	{firstFinalizerName, ".metadata.finalizers[*]", func(*parsed, value) bool { return true }},
	// Which of the hub's operations the cluster has taken, and which waits or runs there.
	{"operationTaken", requestPath(".status.operationState.operation"), func(p *parsed, v value) bool { return v.word(&p.taken) }},
	{"operationPending", requestPath(".operation"), func(p *parsed, v value) bool { return v.word(&p.pending) }},
	// Argo CD Image Updater asks for the tool.
	{"sourceType", ".status.sourceType", func(p *parsed, v value) bool { return v.oneOf(&p.status.SourceType, argocd.SourceTypes) }},
	{"healthMessage", ".status.health.message", func(p *parsed, v value) bool { return v.message(&p.status.Health.Message) }},
	{"healthLastTransitionTime", ".status.health.lastTransitionTime", func(p *parsed, v value) bool { return v.time(&p.status.Health.LastTransitionTime) }},
	{"operationStateFinishedAt", ".status.operationState.finishedAt", func(p *parsed, v value) bool { return v.time(&p.operation.FinishedAt) }},
	{"operationStateMessage", ".status.operationState.message", func(p *parsed, v value) bool { return v.message(&p.operation.Message) }},
	{"operationStateRetryCount", ".status.operationState.retryCount", func(p *parsed, v value) bool { return v.count(&p.operation.RetryCount) }},
	{"operationStateSyncRevision", ".status.operationState.syncResult.revision", func(p *parsed, v value) bool { return v.revision(&p.result.Revision) }},
	{"operationStateInitiatedBy", ".status.operationState.operation.initiatedBy.username", func(p *parsed, v value) bool { return v.word(&p.by.Username) }},
	{"operationStateAutomated", ".status.operationState.operation.initiatedBy.automated", func(p *parsed, v value) bool { return v.boolean(&p.by.Automated) }},
	{"operationStateDryRun", ".status.operationState.operation.sync.dryRun", func(p *parsed, v value) bool { return v.boolean(&p.operation.Operation.Sync.DryRun) }},
	// Argo CD 2 keeps each resource's health in the status; Argo CD 3 only with controller.resource.health.persist. Several
	// matches give the first, and a path of its own gives each part: should the first of several Degraded resources have no
	// message, the next one's is taken.
	{"degradedKind", degradedPath("kind"), func(p *parsed, v value) bool { return v.word(&p.degraded.Kind) }},
	{"degradedName", degradedPath("name"), func(p *parsed, v value) bool { return v.word(&p.degraded.Name) }},
	{"degradedMessage", degradedPath("health.message"), func(p *parsed, v value) bool { return v.message(&p.degradedMessage) }},
}

// volatile are the rules of values that change with every comparison, though nothing else does: Argo CD (2 and 3) writes
// reconciledAt every few minutes, and each write changes the resourceVersion. With them go those that only a request
// needs.
var volatile = []rule{
	{"resourceVersion", ".metadata.resourceVersion", func(p *parsed, v value) bool { return v.revision(&p.version) }},
	{"reconciledAt", ".status.reconciledAt", func(p *parsed, v value) bool { return v.time(&p.status.ReconciledAt) }},
	// A refresh that has been applied, and whether Argo CD has still to answer it.
	{"refreshRequest", annotationPath(apis.AnnotationRefreshRequest), func(p *parsed, v value) bool { return v.word(&p.refreshRequest) }},
	{"refreshPending", annotationPath(apis.AnnotationRefresh), func(p *parsed, v value) bool { _, p.refreshPending = v.text(); return p.refreshPending }},
	// Argo CD (2 and 3) asks for an automated sync before it tells of the comparison that calls for it.
	{"operationStarting", ".operation.initiatedBy.automated", func(p *parsed, v value) bool { return v.boolean(&p.starting) }},
}

// annotationPath is where an Application has an annotation.
func annotationPath(key string) string {
	return ".metadata.annotations['" + strings.ReplaceAll(key, ".", `\.`) + "']"
}

// degradedPath is where a part of the first Degraded resource is.
func degradedPath(part string) string {
	return `.status.resources[?(@.health.status=="Degraded")].` + part
}

// requestPath is where an operation has the identity that the hub gave it.
func requestPath(operation string) string {
	return fmt.Sprintf(`%s.info[?(@.name==%q)].value`, operation, apis.OperationInfo)
}

// conditionRule asks for the message of one type of condition. Where a type occurs twice the agent reports the
// first message.
func conditionRule(conditionType string) rule {
	return rule{
		name: "condition" + conditionType,
		path: fmt.Sprintf(`.status.conditions[?(@.type==%q)].message`, conditionType),
		take: func(p *parsed, v value) bool {
			c := argocd.Condition{Type: conditionType}
			if !v.message(&c.Message) {
				return false
			}
			p.status.Conditions = append(p.status.Conditions, c)
			return true
		},
	}
}

// The rules of each of several sources: its revision as it was compared, and as it was synced to, and the tool that renders it.
const (
	comparedPrefix = "syncRevisions"
	syncedPrefix   = "operationStateSyncRevisions"
	typePrefix     = "sourceTypes"
	rulesOfSource  = 3
)

// sourceRules ask for the revisions and the tool of one of several sources. The agent's JSONPath takes an index past the end of
// a list for an error, so only as many are asked for as the Application has sources; see unsynced.
func sourceRules(i int) []rule {
	return []rule{{
		name: fmt.Sprint(comparedPrefix, i),
		path: fmt.Sprintf(".status.sync.revisions[%d]", i),
		take: func(p *parsed, v value) bool { return v.revisionAt(&p.sync.Revisions, i) },
	}, {
		name: fmt.Sprint(syncedPrefix, i),
		path: fmt.Sprintf(".status.operationState.syncResult.revisions[%d]", i),
		take: func(p *parsed, v value) bool { return v.revisionAt(&p.result.Revisions, i) },
	}, {
		name: fmt.Sprint(typePrefix, i),
		path: fmt.Sprintf(".status.sourceTypes[%d]", i),
		take: func(p *parsed, v value) bool { return v.sourceTypeAt(&p.status.SourceTypes, i) },
	}}
}

// all are the rules of an Application whatever its sources, then those of each source.
var all = func() []rule {
	rules := scalars
	for _, t := range ConditionTypes {
		rules = append(rules, conditionRule(t))
	}
	for i := range MaxSources {
		rules = append(rules, sourceRules(i)...)
	}
	return rules
}()

// known are all rules that a value can come from, and byName their places in it.
var known = slices.Concat(all, volatile, hydration)

var byName = func() map[string]int {
	out := make(map[string]int, len(known))
	for i, r := range known {
		out[r.name] = i
	}
	return out
}()

// Rules are what the work agent is to report of an Application whose spec lists so many sources (0 when it has
// the one source of spec.source). None of it changes while nothing happens to the Application.
//
// Works share the paths that are asked for: nobody changes them.
func Rules(sources int) []workv1.FeedbackRule {
	return []workv1.FeedbackRule{rulesOf[min(sources, MaxSources)]}
}

// rulesOf are the rules by how many sources there are.
var rulesOf = func() (out [MaxSources + 1]workv1.FeedbackRule) {
	for sources := range out {
		out[sources] = ruleOf(all[:len(all)-rulesOfSource*(MaxSources-sources)])
	}
	return out
}()

// VolatileRule asks beside Rules for what changes with every comparison of the cluster's Argo CD. Each answer is a write
// of the work, so a work has it only while somebody waits for one.
func VolatileRule() workv1.FeedbackRule { return volatileRule }

var volatileRule = ruleOf(volatile)

// VolatileNames are the names of the values that VolatileRule asks for.
var VolatileNames = func() []string {
	names := make([]string, len(volatile))
	for i, r := range volatile {
		names[i] = r.name
	}
	return names
}()

func ruleOf(rules []rule) workv1.FeedbackRule {
	paths := make([]workv1.JsonPath, len(rules))
	for i, r := range rules {
		paths[i] = workv1.JsonPath{Name: r.name, Path: r.path}
	}
	return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: paths}
}
