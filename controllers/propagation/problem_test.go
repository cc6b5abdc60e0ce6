package propagation

import (
	"errors"
	"testing"
	"time"

	"github.com/towline-io/towline/controllers/internal/retry"
)

// TestJoined: of several steps the failure counts before a wait, the shorter wait before the longer one, and a Problem
// keeps the rest as its cause, so that the others are looked at again.
func TestJoined(t *testing.T) {
	failed := errors.New("failed")
	problem := problemf("Reason", "something is wrong")
	for title, tc := range map[string]struct {
		errs    []error
		problem bool
		want    error // it, or the cause of the Problem
	}{
		"nothing":                 {},
		"all is well":             {errs: []error{nil, nil}},
		"waits":                   {errs: []error{waiting(unseen), nil, waiting(retry.Conflict), waiting(time.Hour)}, want: waiting(retry.Conflict)},
		"a failure and a wait":    {errs: []error{waiting(unseen), failed}, want: failed},
		"a failure and a mistake": {errs: []error{errLater, failed}, want: failed},
		"mistakes":                {errs: []error{nil, errLater, errLater}, want: errLater},
		"a problem":               {errs: []error{nil, problem}, problem: true},
		"a problem and a wait":    {errs: []error{problem, waiting(unseen)}, problem: true, want: waiting(unseen)},
		"a failure, two reasons":  {errs: []error{failed, problem, problemf("Other", "else")}, problem: true, want: failed},
	} {
		got := joined(tc.errs)
		p, is := errors.AsType[*Problem](got)
		if is != tc.problem || is && p.Reason != problem.Reason {
			t.Errorf("%s: got %v", title, got)
		}
		if is {
			got = p.cause
		}
		if !errors.Is(got, tc.want) {
			t.Errorf("%s: got %v, want %v", title, got, tc.want)
		}
	}
	if problem.cause != nil {
		t.Error("the Problem itself was changed")
	}
}
