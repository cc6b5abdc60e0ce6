package delivery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// deciding returns a decision about an Application without known facts.
func deciding() *decision {
	return &decision{view: view{
		Facts: &Facts{App: fixture.Application("guestbook").Obj(), Now: time.Unix(1e9, 0)},
	}}
}

func named(uid string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{}
	w.UID, w.Namespace = types.UID(uid), uid
	return w
}

// TestStepsOfAPlan: a plan writes a work once, and a deletion replaces all other writes of the work.
func TestStepsOfAPlan(t *testing.T) {
	d := deciding()
	a, b := named("a"), named("b")
	d.plan.addStep(Step{Write: work.Creation(named("new"))})
	d.plan.addStep(Step{Write: work.Creation(named("new too"))})
	d.plan.addStep(Step{Write: work.Change(a, a), Log: "first"})
	d.plan.addStep(Step{Write: work.Change(a, a), Log: "second"})
	d.plan.addStep(Step{Write: work.Change(b, b)})
	d.plan.addStep(Step{Write: work.Creation(named("last"))})
	if d.deletionRequested(a) || d.plan.Steps[2].Log != "first" {
		t.Errorf("what is changed leaves, or is changed twice: %+v", d.plan.Steps[2])
	}
	d.endWork(d.subject(a), &exit{as: removed})
	d.plan.addStep(Step{Write: work.Change(a, a), Log: "third"})
	d.endWork(d.subject(b), &exit{as: removed})
	d.endWork(d.subject(b), &exit{as: releasedThere})
	var got []string
	for _, s := range d.plan.Steps {
		got = append(got, string(s.Verb)+" "+s.Log)
	}
	if strings.Join(got, ", ") != "create , create , delete Deleted ManifestWork, delete Deleted ManifestWork, create " {
		t.Errorf("got %q", got)
	}
	if !d.deletionRequested(a) || !d.deletionRequested(b) || d.deletionRequested(named("c")) {
		t.Error("not just what is deleted leaves")
	}
}

// TestRequire: a decision requests unknown facts, and no known facts.
func TestRequire(t *testing.T) {
	d := deciding()
	if !d.require(FactOwn) || d.plan.Required != FactOwn {
		t.Errorf("asks for %v", d.plan.Required)
	}
	d = deciding()
	d.Known = FactOwn
	if d.require(FactOwn) || d.plan.Required != 0 {
		t.Errorf("asks for %v", d.plan.Required)
	}
}

// TestAddCondition: a plan has one condition of each type, with all messages. A message that contains the earlier
// message replaces the earlier message.
func TestAddCondition(t *testing.T) {
	d := deciding()
	say := func(conditionType, reason, message string) {
		d.plan.addCondition(&block{Condition: Condition{Type: conditionType, Reason: reason, Message: message}, Wait: Wait{After: time.Minute}})
	}
	say("", "", "nothing to show")
	if len(d.plan.Conditions) > 0 || d.plan.Wait.After != time.Minute {
		t.Errorf("got %+v", d.plan)
	}
	say(problem, "One", "a")
	say(problem, "Two", "b")
	say(problem, "Three", "c, for a; b")
	say(moving, "Four", "d")
	if got := fmt.Sprint(d.plan.Conditions); got != "[{PropagationError Three c, for a; b} {"+moving+" Four d}]" {
		t.Errorf("got %s", got)
	}
	say(problem, "Five", "e")
	if got := d.plan.Conditions[0].Message; got != "c, for a; b; e" {
		t.Errorf("got %s", got)
	}
}

// TestShow: the Application shows only the conditions of the decision. A new condition with a reason gets an event.
func TestShow(t *testing.T) {
	d := deciding()
	d.plan.Conditions = []Condition{{Type: problem, Reason: "New", Message: "new"}, {Type: moving, Message: "no reason"},
		{Type: forbidden, Reason: "Old", Message: "old"}}
	d.App.Status.Conditions = []argocd.Condition{{Type: forbidden, Message: "old"}}
	d.plan.Required = FactOwn
	if d.show(); d.plan.Hub != nil || len(d.plan.Events) > 0 {
		t.Errorf("told before all is known: %+v", d.plan)
	}
	d.plan.Required = 0
	d.show()
	if d.plan.Hub == nil || len(d.plan.Hub.Conditions) != 3 || len(d.plan.Events) != 1 || d.plan.Events[0].Reason != "New" || !d.plan.Events[0].Warning {
		t.Errorf("got %+v, events %+v", d.plan.Hub, d.plan.Events)
	}
	silent := deciding()
	silent.App.Status.Conditions = []argocd.Condition{{Type: forbidden, Message: "old"}, {Type: apis.ConditionRefreshWarning}}
	silent.show()
	if h := silent.plan.Hub; h == nil || len(h.Conditions) != 1 || h.Conditions[0].Type != apis.ConditionRefreshWarning {
		t.Errorf("got %+v", silent.plan.Hub)
	}
}
