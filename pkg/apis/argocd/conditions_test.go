package argocd_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestSetConditions(t *testing.T) {
	earlier, now := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	c := func(conditionType, message string, at *metav1.Time) argocd.Condition {
		return argocd.Condition{Type: conditionType, Message: message, LastTransitionTime: at}
	}
	const lasting, plain, own = apis.ConditionMoveWarning, apis.ConditionPropagationError, apis.ConditionWorkApplyError
	type list = []argocd.Condition
	for name, tc := range map[string]struct{ before, wanted, want list }{
		"a new condition has the present time": {nil, list{c(plain, "a", nil)}, list{c(plain, "a", &now)}},
		"an unchanged condition keeps its time": {
			list{c(plain, "a", &earlier)}, list{c(plain, "a", nil)}, list{c(plain, "a", &earlier)}},
		"an unchanged condition gets no time": {list{c(plain, "a", nil)}, list{c(plain, "a", nil)}, list{c(plain, "a", nil)}},
		"a new message has the present time":  {list{c(plain, "a", &earlier)}, list{c(plain, "b", nil)}, list{c(plain, "b", &now)}},
		"a new message of a lasting condition keeps the time": {
			list{c(lasting, "a", &earlier)}, list{c(lasting, "b", nil)}, list{c(lasting, "b", &earlier)}},
		"a lasting condition without a time gets the present time": {list{c(lasting, "a", nil)}, list{c(lasting, "b", nil)}, list{c(lasting, "b", &now)}},
		"a given time counts": {
			list{c(plain, "a", &now)}, list{c(plain, "a", &earlier)}, list{c(plain, "a", &earlier)}},
		"the caller's condition goes, foreign conditions stay in order": {
			list{c("x", "", nil), c(own, "a", &earlier), c("y", "", nil)}, nil, list{c("x", "", nil), c("y", "", nil)}},
		"a type changes in place": {
			list{c(own, "a", &earlier), c("y", "", nil)}, list{c(own, "b", nil)}, list{c(own, "b", &now), c("y", "", nil)}},
		"at most one condition of a type": {
			list{c(own, "a", &earlier), c(own, "b", &earlier)}, list{c(own, "b", nil), c(own, "c", nil)}, list{c(own, "b", &now)}},
		"foreign duplicates stay": {list{c("x", "1", nil), c("x", "2", nil)}, nil, list{c("x", "1", nil), c("x", "2", nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			owned := func(conditionType string) bool { return conditionType == own }
			got := argocd.SetConditions(tc.before, tc.wanted, owned, now)
			if diff := cmp.Diff(append(list{}, tc.want...), got); diff != "" {
				t.Error(diff)
			}
			if again := argocd.SetConditions(got, tc.wanted, owned, now); !argocd.SameConditions(got, again) {
				t.Errorf("a second time it is %v", again)
			}
		})
	}
}

// TestConditionRules checks the properties of the table that its users need.
func TestConditionRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range apis.ConditionRules {
		if r.Type == "" || r.Owner == "" || seen[r.Type] {
			t.Errorf("%+v", r)
		}
		seen[r.Type] = true
		if r.Lasts && r.Owner != apis.OwnerPropagation {
			t.Errorf("%s: only propagation knows since when a cause lasts", r.Type)
		}
	}
}
