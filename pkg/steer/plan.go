package steer

import (
	"cmp"
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// rule is the implementation of a verb.
type rule struct {
	// deleting is true if the verb is allowed during the deletion of the Application.
	deleting bool

	// plan returns the change for the request.
	plan func(f *Facts, r Request) (*Change, *Refusal)

	// effect returns the progress of the change.
	effect func(e *Effect) Progress
}

var rules map[Verb]rule

func init() { // an initializer would be a reference cycle
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

// Of returns the change for a request, or a refusal. A change without a patch means that the hub already has the
// requested state.
func Of(f *Facts, r Request) (*Change, *Refusal) {
	app, verb := f.App, rules[r.Verb]
	name := app.Namespace + "/" + app.Name
	switch {
	case !app.Pulled():
		return nil, &Refusal{
			Message: fmt.Sprintf("Application %s is not Towline's: the label %s is not true", name, apis.LabelPull),
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

// change returns a change of the Application, for the read version only.
func change(f *Facts, p argocd.Patch, message, awaits string) *Change {
	p.Exact = true
	return &Change{Patch: p.Data(f.App), Message: message, Awaits: awaits}
}

// annotate returns a change of one annotation, or a refusal if the ApplicationSet would revert the change. An empty
// value removes the annotation.
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

// nothing returns a change without a patch, for an already existing state.
func nothing(format string, args ...any) (*Change, *Refusal) {
	return &Change{Message: fmt.Sprintf(format, args...)}, nil
}

// refuse returns a refusal.
func refuse(do, format string, args ...any) (*Change, *Refusal) {
	return nil, &Refusal{Message: fmt.Sprintf(format, args...), Do: do}
}

// clusterOf returns the name of the Application's cluster, for a sentence.
func clusterOf(app *argocd.Application) string { return cmp.Or(app.Cluster(), "its cluster") }

// condition returns the message of a condition of the Application; empty for none.
func condition(app *argocd.Application, conditionType string) string {
	if i := argocd.IndexCondition(app.Status.Conditions, conditionType); i >= 0 {
		return app.Status.Conditions[i].Message
	}
	return ""
}
