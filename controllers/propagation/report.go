package propagation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

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

// report makes the Application's conditions say what the problem is, or that there is none any more. The event comes
// with a new problem only, after it has been written.
func (r *Reconciler) report(ctx context.Context, app *argocd.Application, problem *Problem) error {
	conditions, changed := withProblem(app.Status.Conditions, problem)
	if !changed {
		return nil
	}
	patch := statusPatch{}
	patch.Metadata.ResourceVersion = app.ResourceVersion
	patch.Status.Conditions = conditions
	if problem.ends() && showsRunning(app) {
		patch.Status.OperationState = json.RawMessage("null")
	}
	if err := r.patch(ctx, app, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, p := range problem.all() {
		if p.Reason != silent && !slices.ContainsFunc(app.Status.Conditions, p.isShownBy) {
			kind := corev1.EventTypeWarning
			if p.notice() {
				kind = corev1.EventTypeNormal
			}
			r.Events.Eventf(app, nil, kind, p.Reason, "Propagate", "%s", feedback.Clean(p.Message, maxNote))
		}
	}
	return nil
}

// problemConditions are the types of the conditions that withProblem sets and clears.
var problemConditions = append([]string{apis.ConditionPropagationError, apis.ConditionPropagationForbiddenError}, notices...)

func isProblem(c argocd.Condition) bool { return slices.Contains(problemConditions, c.Type) }

// withProblem is a list of conditions that shows the problem, with what is beside it, and no other, or none for nil, and
// whether it differs from the given one. All other conditions stay as they are.
func withProblem(conditions []argocd.Condition, problem *Problem) ([]argocd.Condition, bool) {
	left := problem.all()
	out := make([]argocd.Condition, 0, len(conditions)+len(left))
	for _, c := range conditions {
		if !isProblem(c) {
			out = append(out, c)
			continue
		}
		i := slices.IndexFunc(left, func(p *Problem) bool { return p.condition() == c.Type })
		if i >= 0 {
			out = append(out, left[i].after(c))
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, p := range left {
		out = append(out, p.after(argocd.Condition{}))
	}
	return out, !slices.Equal(out, conditions)
}

// with is the problem with a notice beside it, and with what has to be tried again for that; the notice may be nil.
func (p *Problem) with(notice *Problem) *Problem {
	if notice == nil {
		return p
	}
	out := *p
	out.beside, out.cause = notice, notice.cause
	return &out
}

// all are the problem and what is beside it; none for nil.
func (p *Problem) all() (out []*Problem) {
	for ; p != nil; p = p.beside {
		out = append(out, p)
	}
	return out
}

// beside is the error because of which an Application is not sent, with a Problem that is told of as well where that error is
// one; both may be nil.
func beside(err error, p *Problem) error {
	shown, is := errors.AsType[*Problem](err)
	if err != nil && !is {
		return err
	}
	if both := together(shown, p); both != nil {
		return both
	}
	return nil
}

// together are two Problems in one; either may be nil. Of those of one condition the second goes behind the first, or stands
// for it where it says all of that.
func together(a, b *Problem) *Problem {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	out := *a
	out.cause = joined([]error{a.cause, b.cause})
	switch {
	case a.condition() != b.condition():
		out.beside = together(a.beside, b)
	case strings.Contains(b.Message, a.Message):
		out.Reason, out.Message = b.Reason, b.Message
	default:
		out.Reason, out.Message = b.Reason, a.Message+"; "+b.Message
	}
	return &out
}

// after is the condition that shows the problem in the place of the one before, of its type or of none.
func (p *Problem) after(before argocd.Condition) argocd.Condition {
	if p.isShownBy(before) {
		return before
	}
	now := argocd.Condition{Type: p.condition(), Message: p.shown(), LastTransitionTime: ptr.To(metav1.Now())}
	if p.notice() && before.LastTransitionTime != nil {
		now.LastTransitionTime = before.LastTransitionTime // since when it takes its time
	}
	return now
}

func (p *Problem) isShownBy(c argocd.Condition) bool {
	return c.Type == p.condition() && c.Message == p.shown()
}

func (p *Problem) shown() string { return feedback.Clean(p.Message, feedback.MaxMessage) }

// ends tells whether nothing that happens on a cluster is shown any more.
func (p *Problem) ends() bool {
	return p != nil && p.Condition == apis.ConditionReleaseWarning && p.Reason == silent
}

// showsRunning tells whether the Application shows an operation that has not come to its end.
func showsRunning(app *argocd.Application) bool {
	o := app.Status.OperationState
	return o != nil && (o.Phase == "Running" || o.Phase == "Terminating")
}

// statusPatch replaces the list of conditions, and takes off the operation that was last heard to run where nobody will hear of
// its end. It names the version that the list was read from, since the status
// controller writes to the same list.
type statusPatch struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		Conditions []argocd.Condition `json:"conditions"`

		// OperationState is null where it is to go.
		OperationState json.RawMessage `json:"operationState,omitempty"`
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
