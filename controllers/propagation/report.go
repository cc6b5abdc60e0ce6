package propagation

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxNote is how long the text of an event may be (events.k8s.io/v1).
const maxNote = 1024

// report makes the Application's condition say what the problem is, or that there is none any more. The event
// comes with a new problem only, after it has been written.
func (r *Reconciler) report(ctx context.Context, app *argocd.Application, problem *Problem) error {
	conditions, changed := withProblem(app.Status.Conditions, problem)
	if !changed {
		return nil
	}
	patch := statusPatch{}
	patch.Metadata.ResourceVersion = app.ResourceVersion
	patch.Status.Conditions = conditions
	if err := r.patch(ctx, app, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	if problem != nil {
		kind := corev1.EventTypeWarning
		if problem.notice() {
			kind = corev1.EventTypeNormal
		}
		r.Events.Eventf(app, nil, kind, problem.Reason, "Propagate", "%s", feedback.Clean(problem.Message, maxNote))
	}
	return nil
}

// problemConditions are the types of the conditions that withProblem sets and clears.
var problemConditions = append([]string{apis.ConditionPropagationError, apis.ConditionPropagationForbiddenError}, notices...)

func isProblem(c argocd.Condition) bool { return slices.Contains(problemConditions, c.Type) }

// withProblem is a list of conditions that shows the problem and no other, or none for nil, and whether it differs
// from the given one. All other conditions stay as they are.
func withProblem(conditions []argocd.Condition, problem *Problem) ([]argocd.Condition, bool) {
	i := slices.IndexFunc(conditions, isProblem)
	if problem == nil && i < 0 {
		return conditions, false
	}
	out := slices.DeleteFunc(slices.Clone(conditions), isProblem)
	if problem == nil {
		return out, true
	}
	shown := argocd.Condition{Type: problem.condition(), Message: problem.shown(), LastTransitionTime: ptr.To(metav1.Now())}
	same := i >= 0 && conditions[i].Type == shown.Type && conditions[i].Message == shown.Message
	if same && len(out) == len(conditions)-1 {
		return conditions, false
	}
	if i < 0 {
		i = len(out)
	} else if problem.notice() && conditions[i].Type == shown.Type && conditions[i].LastTransitionTime != nil {
		shown.LastTransitionTime = conditions[i].LastTransitionTime // since when it takes its time
	}
	return slices.Insert(out, i, shown), true
}

func (p *Problem) shown() string { return feedback.Clean(p.Message, feedback.MaxMessage) }

// statusPatch replaces the list of conditions. It names the version that the list was read from, since the status
// controller writes to the same list.
type statusPatch struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		Conditions []argocd.Condition `json:"conditions"`
	} `json:"status"`
}

// metadataPatch replaces the list of finalizers.
type metadataPatch struct {
	Metadata struct {
		ResourceVersion string   `json:"resourceVersion"`
		Finalizers      []string `json:"finalizers"`
	} `json:"metadata"`
}

// patch sends a merge patch of a hub Application. It leaves app, which is the cache's, alone.
func (r *Reconciler) patch(ctx context.Context, app *argocd.Application, patch any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	target := &argocd.Application{}
	target.Namespace, target.Name = app.Namespace, app.Name
	return r.Patch(ctx, target, client.RawPatch(types.MergePatchType, data))
}
