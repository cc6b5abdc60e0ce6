package loop

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers/internal/retry"
)

// Behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the object,
// unless it is one that does not.
const Behind = time.Second

// rounds is how many plans are made of one object at a time: each but the last meets something that was not known.
const rounds = 4

// Plan is what a decision comes to.
type Plan interface {
	// Destroys are the writes by which something may be lost, sorted; none for a plan that destroys nothing.
	Destroys() []string
}

// Outcome is what writing met that is no failure.
type Outcome int

const (
	// Done says that all was written.
	Done Outcome = iota

	// Conflict says that an object has changed since it was read: the next reconcile sees it.
	Conflict

	// Learned says that a write has told something that was not known, and that the facts have it now.
	Learned
)

// Phases are those of one object, which has been observed.
type Phases[P Plan] struct {
	// Decide makes a plan of what is known, and reads what it lacks for that.
	Decide func(context.Context) (P, error)

	// ObserveLive reads past the cache what was observed before, as far as the plan depends on it. It tells whether the object is the
	// same still.
	ObserveLive func(context.Context, P) (same bool, err error)

	// Apply makes the writes of a plan.
	Apply func(context.Context, P) (Outcome, error)

	// Wait is when to look again once a plan has been applied.
	Wait func(P) ctrl.Result
}

// Run decides and applies. A plan that destroys something is applied if the second decision comes to the same, or to one that
// destroys nothing.
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
			return retry.Slower(), nil
		case met == Learned:
			continue
		case soon:
			return sooner(p.Wait(plan)), nil
		}
		return p.Wait(plan), nil
	}
	return retry.Slower(), nil
}

// Again is when to look again: after so long, where zero is never, or at the pace of the queue, which becomes ever slower.
func Again(after time.Duration, backoff bool) ctrl.Result {
	if backoff {
		return retry.Slower()
	}
	return ctrl.Result{RequeueAfter: after}
}

// IsRefusal tells whether the API server will not have an object as it is: to write the same again changes nothing.
func IsRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// sooner is a wait that lasts no longer than the cache may be behind.
func sooner(r ctrl.Result) ctrl.Result {
	if r.RequeueAfter == 0 || r.RequeueAfter > Behind {
		r.RequeueAfter = Behind
	}
	return r
}
