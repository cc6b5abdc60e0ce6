package loop

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/gate"
)

// Behind is how long to wait when the cache lags behind the API server. Usually the change itself wakes the object, but
// some changes do not.
const Behind = time.Second

// rounds is the maximum number of plans for an object in a reconcile. Each plan but the last meets a new fact.
const rounds = 4

// Plan is the result of a decision.
type Plan interface {
	// Destroys returns the sorted destructive writes of the plan, or none.
	Destroys() []string
}

// Outcome is the result of writing without a failure.
type Outcome int

const (
	// Done means that all writes were made.
	Done Outcome = iota

	// Conflict means that an object has changed since the controller read the object. The next reconcile sees the
	// change.
	Conflict

	// FactsChanged means that a write revealed a new fact. The facts now include the new fact.
	FactsChanged
)

// Phases are the phases of a reconcile for an observed object.
type Phases[P Plan] struct {
	// Decide makes a plan from the known facts, and reads missing facts.
	Decide func(context.Context) (P, error)

	// ObserveLive repeats the observation past the cache, as far as the plan depends on the facts. same is false if a
	// different object has the name now.
	ObserveLive func(context.Context, P) (same bool, err error)

	// Apply makes the writes of a plan.
	Apply func(context.Context, P) (Outcome, error)

	// Wait returns when to reconcile again after a plan was applied.
	Wait func(P) ctrl.Result
}

// Run decides and applies. A destructive plan is applied only if the second decision destroys the same. A second plan
// without destruction is applied as well.
func (p Phases[P]) Run(ctx context.Context) (ctrl.Result, error) {
	live := false
	for range rounds {
		plan, err := p.Decide(ctx)
		if err != nil {
			return ctrl.Result{}, err
		}
		soon := false
		if destroys := plan.Destroys(); len(destroys) > 0 && !live {
			live = true
			same, err := p.ObserveLive(ctx, plan)
			switch {
			case err != nil:
				return ctrl.Result{}, err
			case !same:
				return ctrl.Result{RequeueAfter: Behind}, nil
			}
			if plan, err = p.Decide(ctx); err != nil {
				return ctrl.Result{}, err
			}
			second := plan.Destroys()
			soon = !slices.Equal(destroys, second)
			if soon && len(second) > 0 {
				return ctrl.Result{RequeueAfter: Behind}, nil
			}
		}
		switch met, err := p.Apply(ctx, plan); {
		case err != nil:
			return ctrl.Result{}, err
		case met == Conflict:
			return Backoff(), nil
		case met == FactsChanged:
			continue
		case soon:
			return sooner(p.Wait(plan)), nil
		}
		return p.Wait(plan), nil
	}
	return Backoff(), nil
}

// Requeue returns when to reconcile again. With backoff, the queue's growing delay applies. Without backoff, the
// reconcile repeats after the given duration, or never if the duration is zero.
func Requeue(after time.Duration, backoff bool) ctrl.Result {
	if backoff {
		return Backoff()
	}
	return ctrl.Result{RequeueAfter: after}
}

// IsRefusal returns true if the API server refuses the object in its present form. A repeated write of the same object
// would fail again.
func IsRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// sooner limits a wait to the lag of the cache (Behind).
func sooner(r ctrl.Result) ctrl.Result {
	r.RequeueAfter = gate.Sooner(r.RequeueAfter, Behind)
	return r
}
