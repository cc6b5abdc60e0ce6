package feedback

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// hydrationFailed is the phase of a hydration that failed. Argo CD (2.14 and 3) tries it again, and goes on to compare with what was
// hydrated before: Synced and Healthy, while nothing new arrives.
const hydrationFailed = "Failed"

// hydrating is the phase of one that is under way. It does not tell how the one before ended.
const hydrating = "Hydrating"

// hydrationPhases are those of Argo CD (2.14 and 3, HydrateOperationPhase).
var hydrationPhases = []string{hydrating, "Hydrated", hydrationFailed}

// hydration are the rules of an Application whose manifests the cluster's Argo CD hydrates.
var hydration = []rule{
	{"hydrationPhase", ".status.sourceHydrator.currentOperation.phase", func(p *parsed, v value) bool { return v.oneOf(&p.hydration, hydrationPhases) }},
	{"hydrationMessage", ".status.sourceHydrator.currentOperation.message", func(p *parsed, v value) bool { return v.message(&p.hydrationMessage) }},
}

// HydrationRule asks beside Rules how the last hydration of an Application went, for one with spec.sourceHydrator. Nothing else of
// status.sourceHydrator is asked for: the revision that was hydrated is the one that is compared.
func HydrationRule() workv1.FeedbackRule { return hydrationRule }

var hydrationRule = ruleOf(hydration)

// hydrationError is why a hydration failed; of one that did not, nothing is said.
func (p *parsed) hydrationError() []argocd.Condition {
	if p.hydration != hydrationFailed {
		return nil
	}
	return []argocd.Condition{{Type: apis.ConditionHydrationError, Message: p.hydrationMessage}}
}
