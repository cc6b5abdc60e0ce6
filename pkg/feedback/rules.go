package feedback

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// MaxSources is the maximum number of sources with a requested revision. An Application with more sources shows the
// revisions of the first sources.
const MaxSources = 16

// ConditionTypes are the types of the conditions that Argo CD 2 and 3 set on an Application
// (pkg/apis/application/v1alpha1/types.go). DetailRule requests a message for each type.
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

// rule is one requested value, with the function that stores the reported value.
type rule struct {
	name, path string
	take       func(*parsed, value) bool
}

// parsed is a status during parsing: parts that depend on other parts are separate until the end.
type parsed struct {
	status    argocd.Status
	sync      argocd.Sync
	operation argocd.OperationState
	result    argocd.SyncResult
	by        argocd.Initiator
	version   string
	uid       string

	// createdAt is the creation of the Application. appliedAt is when the work agent last changed the Application.
	createdAt, appliedAt string

	// degraded is the first Degraded resource. degradedMessage is its health message.
	degraded        argocd.ResourceStatus
	degradedMessage string

	taken, pending string

	// first is the first condition.
	first argocd.Condition

	hydration, hydrationMessage string

	refreshRequest           string
	refreshPending, starting bool
}

// scalars are the rules of every Application. Other software also reads the first five names.
var scalars = []rule{
	{"healthStatus", ".status.health.status", func(p *parsed, v value) bool { return v.oneOf(&p.status.Health.Status, argocd.HealthCodes) }},
	{"syncStatus", ".status.sync.status", func(p *parsed, v value) bool { return v.oneOf(&p.sync.Status, argocd.SyncCodes) }},
	{"operationStatePhase", ".status.operationState.phase", func(p *parsed, v value) bool { return v.oneOf(&p.operation.Phase, argocd.OperationPhases) }},
	{"operationStateStartedAt", ".status.operationState.startedAt", func(p *parsed, v value) bool { return v.time(&p.operation.StartedAt) }},
	{"syncRevision", ".status.sync.revision", func(p *parsed, v value) bool { return v.revision(&p.sync.Revision) }},
	// The UID of the read Application. Every Application has a UID.
	{"uid", ".metadata.uid", func(p *parsed, v value) bool { return v.word(&p.uid) }},
	// See ConditionRules: the start of the time without an operation, and the mark of an edit.
	{"creationTimestamp", ".metadata.creationTimestamp", func(p *parsed, v value) bool { return v.time(&p.createdAt) }},
	{appliedAtName, appliedAtPath, func(p *parsed, v value) bool { return v.fit(&p.appliedAt, isMark) }},
	// The first finalizer; see Cascades. A path without a filter costs the agent less than a filter for a finalizer.
	{firstFinalizerName, ".metadata.finalizers[*]", func(*parsed, value) bool { return true }},
	// The hub's operation that the cluster has taken, and the waiting or running operation.
	{"operationTaken", requestPath(".status.operationState.operation"), func(p *parsed, v value) bool { return v.word(&p.taken) }},
	{"operationPending", requestPath(".operation"), func(p *parsed, v value) bool { return v.word(&p.pending) }},
	// Argo CD Image Updater needs the source type.
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
	// The first condition; see DetailRule. Of several matches, the agent reports the first match.
	{"conditionType", ".status.conditions[*].type", func(p *parsed, v value) bool { return v.word(&p.first.Type) }},
	{"conditionMessage", ".status.conditions[*].message", func(p *parsed, v value) bool { return v.message(&p.first.Message) }},
}

// details are the rules of values that most Applications lack.
var details = func() []rule {
	rules := []rule{
		// Argo CD 2 keeps each resource's health in the status; Argo CD 3 only with controller.resource.health.persist. Of
		// several matches, the agent reports the first. Each part has a separate path. If the first Degraded resource has
		// no message, the message of the next Degraded resource is reported.
		{"degradedKind", degradedPath("kind"), func(p *parsed, v value) bool { return v.word(&p.degraded.Kind) }},
		{"degradedName", degradedPath("name"), func(p *parsed, v value) bool { return v.word(&p.degraded.Name) }},
		{"degradedMessage", degradedPath("health.message"), func(p *parsed, v value) bool { return v.message(&p.degradedMessage) }},
	}
	for _, t := range ConditionTypes {
		rules = append(rules, conditionRule(t))
	}
	return rules
}()

// volatile are the rules of values that change with every comparison without a further change. Argo CD (2 and 3) writes
// reconciledAt every few minutes, and each write changes the resourceVersion. The values needed only during a request
// are also here.
var volatile = []rule{
	{"resourceVersion", ".metadata.resourceVersion", func(p *parsed, v value) bool { return v.revision(&p.version) }},
	{"reconciledAt", ".status.reconciledAt", func(p *parsed, v value) bool { return v.time(&p.status.ReconciledAt) }},
	// An applied refresh, and whether Argo CD has yet to answer the refresh.
	{"refreshRequest", annotationPath(apis.AnnotationRefreshRequest), func(p *parsed, v value) bool { return v.word(&p.refreshRequest) }},
	{"refreshPending", annotationPath(apis.AnnotationRefresh), func(p *parsed, v value) bool { _, p.refreshPending = v.text(); return p.refreshPending }},
	// Argo CD (2 and 3) requests an automated sync before it reports the comparison that caused the sync.
	{"operationStarting", ".operation.initiatedBy.automated", func(p *parsed, v value) bool { return v.boolean(&p.starting) }},
}

// annotationPath returns the path of an annotation of an Application.
func annotationPath(key string) string {
	return ".metadata.annotations['" + strings.ReplaceAll(key, ".", `\.`) + "']"
}

// degradedPath returns the path of a part of the first Degraded resource.
func degradedPath(part string) string {
	return `.status.resources[?(@.health.status=="Degraded")].` + part
}

// requestPath returns the path of the hub's identity in an operation.
func requestPath(operation string) string {
	return fmt.Sprintf(`%s.info[?(@.name==%q)].value`, operation, apis.OperationInfo)
}

// conditionRule asks for the message of one type of condition. If a type occurs twice, the agent reports the first
// message.
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

// The names of the values of one source, if the Application has several sources: the compared revision, the synced
// revision, and the rendering tool.
const (
	comparedPrefix = "syncRevisions"
	syncedPrefix   = "operationStateSyncRevisions"
	typePrefix     = "sourceTypes"
	rulesOfSource  = 3
)

// sourceRules ask for the revisions and the tool of one of several sources. The agent's JSONPath treats an index past
// the end of a list as an error. Therefore a work has only the rules for its Application's number of sources; see
// harmless.
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

// all has the rules independent of the sources, and then the rules of each source.
var all = func() []rule {
	rules := scalars
	for i := range MaxSources {
		rules = append(rules, sourceRules(i)...)
	}
	return rules
}()

// known are all rules with a value, and byName has their indexes.
var known = slices.Concat(all, details, volatile, hydration)

var byName = func() map[string]int {
	out := make(map[string]int, len(known))
	for i, r := range known {
		out[r.name] = i
	}
	return out
}()

// Rules returns the rules for the work agent's report on an Application. sources is the length of the list in the spec
// (0 for the single source of spec.source). The requested values do not change without a change of the Application.
//
// Works share the paths: callers must not change the paths.
func Rules(sources int) []workv1.FeedbackRule {
	return []workv1.FeedbackRule{rulesOf[min(sources, MaxSources)]}
}

// rulesOf are the rules by number of sources.
var rulesOf = func() (out [MaxSources + 1]workv1.FeedbackRule) {
	for sources := range out {
		out[sources] = ruleOf(all[:len(all)-rulesOfSource*(MaxSources-sources)])
	}
	return out
}()

// VolatileRule asks for values that change with every comparison by the cluster's Argo CD, in addition to Rules. Each
// answer is a write of the work. Therefore a work has this rule only while a user waits for an answer.
func VolatileRule() workv1.FeedbackRule { return volatileRule }

var volatileRule = ruleOf(volatile)

// DetailRule asks for the message of each type of condition, and for the first Degraded resource, in addition to Rules.
// Each value needs a path with a filter, and the agent (v1.2.0) parses each path at every look at the Application. A
// path with a filter costs as much as five paths without. Therefore a work has this rule only while the Application has
// a condition or is Degraded: see Observation.Detailed.
func DetailRule() workv1.FeedbackRule { return detailRule }

var detailRule = ruleOf(details)

// VolatileNames are the names of the values of VolatileRule.
var VolatileNames = namesOf(volatile)

// DetailNames are the names of the values of DetailRule.
var DetailNames = namesOf(details)

func namesOf(rules []rule) []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

func ruleOf(rules []rule) workv1.FeedbackRule {
	paths := make([]workv1.JsonPath, len(rules))
	for i, r := range rules {
		paths[i] = workv1.JsonPath{Name: r.name, Path: r.path}
	}
	return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: paths}
}
