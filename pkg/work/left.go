package work

import (
	"slices"
	"strconv"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
)

// TellsLeft tells whether a work asks for the finalizers that its Application has on the cluster, and for its owner:
// Removable has changed it.
func TellsLeft(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && slices.ContainsFunc(w.Spec.ManifestConfigs[0].FeedbackRules, isLeftRule)
}

// Left are the finalizers by which the end of the Application on the cluster would destroy what it deployed though its
// work has taken them off, and whether they have been read since the agent applied that. Nothing is left to be known of
// a work that does not ask: it cannot be read.
//
// An agent that reads nothing is waited for: it would leave all of the Application's status empty too, and there is no
// other way to know.
func Left(w *workv1.ManifestWork) (left []string, known bool) {
	if !TellsLeft(w) {
		return nil, true
	}
	held, ok := Carried(w)
	if !ok {
		return nil, true
	}
	return feedback.Left(&w.Status, w.Spec.ManifestConfigs[0].ResourceIdentifier, held.Annotations[apis.AnnotationFinalizersDropped])
}

// askLeft makes a work ask for the finalizers that are left, or not any more. It returns the mark of that change; empty
// for none.
func askLeft(w *workv1.ManifestWork, asks bool) string {
	for i := range w.Spec.ManifestConfigs[:min(1, len(w.Spec.ManifestConfigs))] {
		config := &w.Spec.ManifestConfigs[i]
		config.FeedbackRules = slices.DeleteFunc(config.FeedbackRules, isLeftRule)
		if asks {
			config.FeedbackRules = append(config.FeedbackRules, feedback.LeftRule())
			return strconv.FormatInt(w.Generation, 10) // no other change of the work has it
		}
	}
	return ""
}

// mark is the mark of the change that gave what a work carries its last finalizers, also where that is just a name; empty for none.
func mark(w *workv1.ManifestWork) string {
	for _, m := range w.Spec.Workload.Manifests {
		if held := manifests.Get(m.Raw, readManifest); held != nil {
			return held.Annotations[apis.AnnotationFinalizersDropped]
		}
	}
	return ""
}

var leftRule = feedback.LeftRule()

func isLeftRule(r workv1.FeedbackRule) bool { return sameRule(r, leftRule) }
