package propagation

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestReportIsWrittenOnceAProblem(t *testing.T) {
	problem := problemf("Reason", "something is wrong")
	list, changed := withProblem(nil, problem, metav1.Now())
	if !changed || len(list) != 1 {
		t.Fatalf("got %v, %t", list, changed)
	}
	if _, again := withProblem(list, problem, metav1.Now()); again {
		t.Error("the same problem is written again")
	}
	if list, changed = withProblem(list, problemf("Reason", "something else"), metav1.Now()); !changed || len(list) != 1 {
		t.Errorf("got %v, %t", list, changed)
	}
	forbidden := problemf("Other", "something else")
	forbidden.Condition = apis.ConditionPropagationForbiddenError
	if list, changed = withProblem(list, forbidden, metav1.Now()); !changed || len(list) != 1 || list[0].Type != apis.ConditionPropagationForbiddenError {
		t.Errorf("got %v, %t", list, changed)
	}
	list = append(list, argocd.Condition{Type: apis.ConditionPropagationError, Message: "left by someone"})
	if list, changed = withProblem(list, forbidden, metav1.Now()); !changed || len(list) != 1 {
		t.Errorf("got %v, %t", list, changed)
	}
	if list, changed = withProblem(list, nil, metav1.Now()); !changed || len(list) != 0 {
		t.Errorf("got %v, %t", list, changed)
	}
}

// TestANoticeBesideAProblem shows as long as it lasts, and neither is written again for the other.
func TestANoticeBesideAProblem(t *testing.T) {
	held := problemf("Reason", "the operation is held back")
	held.Condition = apis.ConditionPropagationForbiddenError
	moving := noticef(apis.ConditionMoveWarning, apis.ReasonMoving, "moving to cluster2")
	moving.cause = waiting(unseen)
	others := []argocd.Condition{{Type: "SyncError", Message: "not ours"}}
	types := func(list []argocd.Condition) (out []string) {
		for _, c := range list {
			out = append(out, c.Type)
		}
		return out
	}
	list, changed := withProblem(others, held.with(moving), metav1.Now())
	if want := []string{"SyncError", held.Condition, moving.Condition}; !changed || !slices.Equal(types(list), want) {
		t.Fatalf("got %v, %t", list, changed)
	}
	if _, again := withProblem(list, held.with(moving), metav1.Now()); again {
		t.Error("the same is written again")
	}
	if held.with(moving).cause == nil || held.cause != nil || held.with(nil) != held {
		t.Error("nobody looks again for the notice, or always")
	}
	only, changed := withProblem(list, moving, metav1.Now())
	if !changed || !slices.Equal(types(only), []string{"SyncError", moving.Condition}) || only[1] != list[2] {
		t.Errorf("got %v, %t", only, changed)
	}
	only, changed = withProblem(list, held.with(nil), metav1.Now())
	if !changed || !slices.Equal(types(only), []string{"SyncError", held.Condition}) || only[1] != list[1] {
		t.Errorf("got %v, %t", only, changed)
	}
}
