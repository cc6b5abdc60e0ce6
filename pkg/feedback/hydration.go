package feedback

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// hydrationFailed is the phase of a failed hydration. Argo CD (2.14 and 3) retries, and meanwhile compares with the
// earlier hydrated manifests. The Application stays Synced and Healthy, but receives no update.
const hydrationFailed = "Failed"

// hydrating is the phase of a hydration under way. The phase does not contain the result of the previous hydration.
const hydrating = "Hydrating"

// hydrationPhases are the phases of Argo CD (2.14 and 3, HydrateOperationPhase).
var hydrationPhases = []string{hydrating, "Hydrated", hydrationFailed}

// hydration has the rules of an Application with manifests hydrated by the cluster's Argo CD.
var hydration = []rule{
	{"hydrationPhase", ".status.sourceHydrator.currentOperation.phase", func(p *parsed, v value) bool { return v.oneOf(&p.hydration, hydrationPhases) }},
	{"hydrationMessage", ".status.sourceHydrator.currentOperation.message", func(p *parsed, v value) bool { return v.message(&p.hydrationMessage) }},
}

// HydrationRule asks for the result of the last hydration, in addition to Rules, for an Application with
// spec.sourceHydrator. The other fields of status.sourceHydrator are not needed: the hydrated revision is the compared
// revision.
func HydrationRule() workv1.FeedbackRule { return hydrationRule }

var hydrationRule = ruleOf(hydration)

// hydrationError returns the error of a failed hydration; nil otherwise.
func (p *parsed) hydrationError() []argocd.Condition {
	if p.hydration != hydrationFailed {
		return nil
	}
	return []argocd.Condition{{Type: apis.ConditionHydrationError, Message: p.hydrationMessage}}
}
