package bench

import (
	"context"
	"strconv"
)

// manifestWork is what is read of a ManifestWork.
type manifestWork struct {
	meta `json:"metadata"`
}

// finalizer is the work agent's, which it puts on a work before it applies it.
const finalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"

// take puts the agent's finalizer on a work, as the agent does before anything else.
func (b *Bench) take(ctx context.Context, w *manifestWork) error {
	return b.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name, object{"metadata": object{"finalizers": []string{finalizer}}})
}

// report writes the status of a work as its agent does: all of it, in one merge patch of the subresource.
func (b *Bench) report(ctx context.Context, w *manifestWork, app, number int) error {
	return b.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name+"/status", workStatus(w, b.name(app), number))
}

// workStatus is what a work agent (v1.2.0) reports of an Application that was synced without trouble. number is that
// of the change; 0 is the first sync.
func workStatus(w *manifestWork, app string, number int) object {
	at, commit := now(), commit
	if number > 0 {
		commit = revision(number)
	}
	return object{"status": object{
		"conditions": []object{
			condition("Applied", "AppliedManifestWorkComplete", "Apply manifest work complete", w.Generation),
			condition("Available", "ResourcesAvailable", "All resources are available", w.Generation),
		},
		"resourceStatus": object{"manifests": []object{{
			"conditions": []object{
				condition("Applied", "AppliedManifestComplete", "Apply manifest complete", w.Generation),
				condition("Available", "ResourceAvailable", "Resource is available", 0),
				condition("StatusFeedbackSynced", "StatusFeedbackSynced", "", 0),
			},
			"resourceMeta": object{
				"group": "argoproj.io", "kind": "Application", "name": app, "namespace": namespace,
				"ordinal": 0, "resource": "applications", "version": "v1alpha1",
			},
			"statusFeedback": object{"values": feedback(at, commit, number)},
		}}},
	}}
}

func feedback(at, commit string, number int) []object {
	text := func(name, s string) object {
		return object{"name": name, "fieldValue": object{"type": "String", "string": s}}
	}
	return []object{
		text("healthStatus", "Healthy"),
		text("syncStatus", "Synced"),
		text("operationStatePhase", "Succeeded"),
		text("operationStateStartedAt", at),
		text("syncRevision", commit),
		text("resourceVersion", strconv.Itoa(1000+number)),
		text("healthLastTransitionTime", at),
		text("reconciledAt", at),
		text("operationStateFinishedAt", at),
		text("operationStateMessage", "successfully synced (all tasks run)"),
		text("operationStateSyncRevision", commit),
		{"name": "operationStateAutomated", "fieldValue": object{"type": "Boolean", "boolean": true}},
	}
}
