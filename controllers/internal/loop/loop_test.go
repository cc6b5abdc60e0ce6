package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// plan lists the destructive writes of the plan, separated by spaces.
type plan string

func (p plan) Destroys() []string { return strings.Fields(string(p)) }

// TestRun: a destructive plan is applied only if a second look past the cache gives the same plan, or a plan without
// destruction.
func TestRun(t *testing.T) {
	no := errors.New("no")
	for title, tc := range map[string]struct {
		plans   []plan
		gone    bool
		failing error
		met     []Outcome
		applied []plan
		looked  int
		after   time.Duration
		backoff bool
		fails   bool
	}{
		"nothing is destroyed":        {plans: []plan{""}, applied: []plan{""}, after: time.Hour},
		"both agree":                  {plans: []plan{"a", "a"}, applied: []plan{"a"}, looked: 1, after: time.Hour},
		"the second destroys more":    {plans: []plan{"a", "a b"}, looked: 1, after: Behind},
		"the second destroys another": {plans: []plan{"a", "b"}, looked: 1, after: Behind},
		"the second destroys nothing": {plans: []plan{"a", ""}, applied: []plan{""}, looked: 1, after: Behind},
		"the object is another":       {plans: []plan{"a"}, gone: true, looked: 1, after: Behind},
		"the second look fails":       {plans: []plan{"a"}, failing: no, looked: 1, fails: true},
		"the first decision fails":    {fails: true},
		"the second decision fails":   {plans: []plan{"a"}, looked: 1, fails: true},
		"a conflict":                  {plans: []plan{""}, met: []Outcome{Conflict}, applied: []plan{""}, backoff: true},
		"something was learned":       {plans: []plan{"", ""}, met: []Outcome{FactsChanged}, applied: []plan{"", ""}, after: time.Hour},
		"learned past the cache":      {plans: []plan{"a", "a", "a"}, met: []Outcome{FactsChanged}, applied: []plan{"a", "a"}, looked: 1, after: time.Hour},
		"ever more is learned": {
			plans: []plan{"", "", "", ""}, met: []Outcome{FactsChanged, FactsChanged, FactsChanged, FactsChanged},
			applied: []plan{"", "", "", ""}, backoff: true},
		"learned, and then it destroys": {plans: []plan{"", "a", "a"}, met: []Outcome{FactsChanged}, applied: []plan{"", "a"}, looked: 1, after: time.Hour},
	} {
		t.Run(title, func(t *testing.T) {
			var applied []plan
			looked := 0
			got, err := Phases[plan]{
				Decide: func(context.Context) (plan, error) {
					if len(tc.plans) == 0 {
						return "", no
					}
					next := tc.plans[0]
					tc.plans = tc.plans[1:]
					return next, nil
				},
				ObserveLive: func(context.Context, plan) (bool, error) {
					looked++
					return !tc.gone, tc.failing
				},
				Apply: func(_ context.Context, p plan) (Outcome, error) {
					applied = append(applied, p)
					if len(tc.met) < len(applied) {
						return Done, nil
					}
					return tc.met[len(applied)-1], nil
				},
				Wait: func(plan) ctrl.Result { return ctrl.Result{RequeueAfter: time.Hour} },
			}.Run(t.Context())
			if (err != nil) != tc.fails || err == nil && (got.RequeueAfter != tc.after || got.Requeue != tc.backoff) { //nolint:staticcheck // see Backoff
				t.Errorf("got %v, %v", got, err)
			}
			if !slices.Equal(applied, tc.applied) || looked != tc.looked {
				t.Errorf("applied %q, looked %d times", applied, looked)
			}
		})
	}
}

// TestAFailureOfAWrite: Run returns the error of a write, so that the queue repeats the reconcile with a growing delay.
func TestAFailureOfAWrite(t *testing.T) {
	_, err := Phases[plan]{
		Decide: func(context.Context) (plan, error) { return "", nil },
		Apply:  func(context.Context, plan) (Outcome, error) { return FactsChanged, errors.New("no") },
	}.Run(t.Context())
	if err == nil {
		t.Error("nobody hears of it")
	}
}
