package propagation

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestBlockedCountsEachApplicationOnce(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "x", Name: "a"}, types.NamespacedName{Namespace: "x", Name: "b"}
	count := func(reason string) float64 {
		var m dto.Metric
		if err := blockedApplications.WithLabelValues(reason).Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetGauge().GetValue()
	}
	var blocked blocked
	blocked.set(a, "TestOne")
	blocked.set(a, "TestOne")
	blocked.set(b, "TestOne")
	if got := count("TestOne"); got != 2 {
		t.Errorf("two blocked Applications are counted as %v", got)
	}
	blocked.set(a, "TestOther")
	blocked.set(b, "")
	blocked.set(b, "")
	if one, other := count("TestOne"), count("TestOther"); one != 0 || other != 1 {
		t.Errorf("got %v and %v", one, other)
	}
}

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
