package steer

import (
	"cmp"
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// rule is how a verb is done.
type rule struct {
	// deleting tells whether it can be asked for while the Application is being deleted.
	deleting bool

	// plan is what to write.
	plan func(f *Facts, r Request) (*Change, *Refusal)

	// effect tells whether that has been done.
	effect func(e *Effect) Progress
}

var rules map[Verb]rule

func init() { // the rules speak of each other
	rules = map[Verb]rule{
		Sync:    {plan: planSync, effect: synced},
		Refresh: {plan: planRefresh, effect: refreshed},
		Stop:    {deleting: true, plan: planStop, effect: stopped},
		Pause:   {deleting: true, plan: planPause, effect: paused},
		Resume:  {deleting: true, plan: planResume, effect: resumed},
		Release: {deleting: true, plan: planRelease, effect: released},
		Adopt:   {plan: planAdopt, effect: adopted},
		Move:    {plan: planMove, effect: moved},
		Delete:  {deleting: true, plan: planDelete, effect: deleted},
	}
}

// Of is what to write for a request, or why nothing is written. A change without a patch says that there is nothing to do.
func Of(f *Facts, r Request) (*Change, *Refusal) {
	app, verb := f.App, rules[r.Verb]
	name := app.Namespace + "/" + app.Name
	switch {
	case !app.Pulled():
		return nil, &Refusal{
			Message: fmt.Sprintf("Application %s is not Towline's: its label %s is not true", name, apis.LabelPull),
			Do:      fmt.Sprintf("kubectl -n %s label applications.argoproj.io %s %s=true", app.Namespace, app.Name, apis.LabelPull),
		}
	case app.DeletionTimestamp != nil && !verb.deleting:
		return nil, &Refusal{
			Message: fmt.Sprintf("Application %s is being deleted", name),
			Do:      fmt.Sprintf("kubectl towline why -n %s %s", app.Namespace, app.Name),
		}
	}
	return verb.plan(f, r)
}

// change is one of the Application, for the version only that was read.
func change(f *Facts, p argocd.Patch, message, awaits string) *Change {
	p.Exact = true
	return &Change{Patch: p.Data(f.App), Message: message, Awaits: awaits}
}

// annotate is a change of one annotation, where the ApplicationSet leaves it. The value is empty to take it off.
func annotate(f *Facts, r Request, key, value, message, awaits string) (*Change, *Refusal) {
	if !f.Set.keepsAnnotation(key, value) {
		return nil, f.Set.refuseAnnotation(f, r, key, value)
	}
	set := &value
	if value == "" {
		set = nil
	}
	return change(f, argocd.Patch{Annotations: map[string]*string{key: set}}, message, awaits), nil
}

// nothing is a change for what is so already.
func nothing(format string, args ...any) (*Change, *Refusal) {
	return &Change{Message: fmt.Sprintf(format, args...)}, nil
}

// refuse is a refusal.
func refuse(do, format string, args ...any) (*Change, *Refusal) {
	return nil, &Refusal{Message: fmt.Sprintf(format, args...), Do: do}
}

// clusterOf is the name of the Application's cluster, for a sentence.
func clusterOf(app *argocd.Application) string { return cmp.Or(app.Cluster(), "its cluster") }

// condition is the message of a condition of the Application; empty for none.
func condition(app *argocd.Application, conditionType string) string {
	if i := argocd.IndexCondition(app.Status.Conditions, conditionType); i >= 0 {
		return app.Status.Conditions[i].Message
	}
	return ""
}
