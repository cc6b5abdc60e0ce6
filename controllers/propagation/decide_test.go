package propagation

import (
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestReportIsWrittenOnceAProblem(t *testing.T) {
	problem := problemf("Reason", "something is wrong")
	list, changed := withProblem(nil, problem)
	if !changed || len(list) != 1 {
		t.Fatalf("got %v, %t", list, changed)
	}
	if _, again := withProblem(list, problem); again {
		t.Error("the same problem is written again")
	}
	if list, changed = withProblem(list, problemf("Reason", "something else")); !changed || len(list) != 1 {
		t.Errorf("got %v, %t", list, changed)
	}
	forbidden := problemf("Other", "something else")
	forbidden.Condition = apis.ConditionPropagationForbiddenError
	if list, changed = withProblem(list, forbidden); !changed || len(list) != 1 || list[0].Type != apis.ConditionPropagationForbiddenError {
		t.Errorf("got %v, %t", list, changed)
	}
	list = append(list, argocd.Condition{Type: apis.ConditionPropagationError, Message: "left by someone"})
	if list, changed = withProblem(list, forbidden); !changed || len(list) != 1 {
		t.Errorf("got %v, %t", list, changed)
	}
	if list, changed = withProblem(list, nil); !changed || len(list) != 0 {
		t.Errorf("got %v, %t", list, changed)
	}
}
