package work

import (
	"slices"
	"strconv"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/payload"
)

// ReportsFinalizers reports whether a work has the feedback rule about the finalizers and the owner of the cluster's
// Application. PrepareRemoval adds the rule.
func ReportsFinalizers(w *workv1.ManifestWork) bool {
	return hasRule(w, finalizersRule)
}

// RemainingFinalizers returns the remaining finalizers of the cluster's Application that remove the workload, although the work has
// dropped its finalizers. known reports whether the agent has read the finalizers since the agent applied the change.
// For a work without the feedback rule or without a readable Application, no further answer can come: RemainingFinalizers returns no
// finalizers, and known is true.
//
// The caller waits for an agent that reads nothing. No other source exists: for such an agent, the rest of the
// Application's status is empty as well.
func (r *Report) RemainingFinalizers() (remaining []string, known bool) {
	if _, ok := Carried(r.Work); !ok || !ReportsFinalizers(r.Work) {
		return nil, true
	}
	return r.finalizersNow()
}

// finalizersNow returns the remaining finalizers that remove the workload. known reports whether the agent has read the
// finalizers since the last change of the finalizers in the work.
func (r *Report) finalizersNow() (remaining []string, known bool) {
	return feedback.RemainingFinalizers(&r.Work.Status, r.id, mark(r.Work))
}

// setFinalizersRule adds the feedback rule about the finalizers, or removes the rule. setFinalizersRule returns the mark of the change;
// empty without the rule.
func setFinalizersRule(w *workv1.ManifestWork, asks bool) string {
	for i := range w.Spec.ManifestConfigs[:min(1, len(w.Spec.ManifestConfigs))] {
		config := &w.Spec.ManifestConfigs[i]
		config.FeedbackRules = slices.DeleteFunc(config.FeedbackRules, func(r workv1.FeedbackRule) bool { return sameRule(r, finalizersRule) })
		if asks {
			config.FeedbackRules = append(config.FeedbackRules, feedback.FinalizersRule())
			return strconv.FormatInt(w.Generation, 10) // unique among the changes of the work
		}
	}
	return ""
}

// mark returns the mark of the last change of the finalizers, also from a manifest with only a name. Empty: no mark.
func mark(w *workv1.ManifestWork) string {
	for _, m := range w.Spec.Workload.Manifests {
		if held := payload.Read(m.Raw); held != nil {
			return held.Annotations[apis.AnnotationFinalizersDropped]
		}
	}
	return ""
}

var finalizersRule = feedback.FinalizersRule()
