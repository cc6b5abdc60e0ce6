package ui

import (
	"net/http"
	"slices"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/view"
)

// applicationPage is one Application.
func applicationPage(v *visit, p *painted) error {
	key := v.key()
	p.Title, p.Page, p.more = key.String(), "applications", true
	if _, err := rowsWhere(v, func(r *view.Row) bool { return r.Namespace == key.Namespace && r.Name == key.Name }); err != nil {
		return err
	}
	a, err := v.Hub.Application(v.Request.Context(), key)
	if err != nil {
		return err
	}
	if a == nil {
		return &Refusal{Code: http.StatusNotFound, Message: "Application " + key.String() + " does not exist."}
	}
	row := view.OfApplication(a.App)
	history := slices.Clone(a.App.Status.History)
	slices.Reverse(history)
	data := map[string]any{
		"Row": &row, "Diagnosis": a.Diagnosis, "Broken": a.Diagnosis.Broken(), "Verdict": a.Diagnosis.Verdict(), "App": a.App, "Query": p.Query,
		"Tree": a.Tree, "Events": a.Events, "EventsUnread": a.EventsUnread, "History": history, "Actions": actions(a.App),
	}
	for _, section := range []string{"application", "diagnosis", "conditions", "tree", "actions", "history", "events"} {
		if err := p.add(section+".html", section, data); err != nil {
			return err
		}
	}
	return nil
}

// action is a possible action for an Application, with its command.
type action struct{ Does, Command string }

// actions returns the possible actions for an Application.
func actions(app *argocd.Application) []action {
	at := " -n " + app.Namespace + " " + app.Name
	pause := action{"Pause: write nothing for the cluster", "kubectl towline pause" + at}
	if argocd.Paused(app.Annotations) {
		pause = action{"Go on", "kubectl towline resume" + at}
	}
	out := []action{
		{"Explain the state", "kubectl towline why" + at},
		{"Sync the Application", "kubectl towline sync" + at},
		{"Compare with Git again", "kubectl towline refresh" + at},
	}
	if o := app.Status.OperationState; o != nil && o.Phase == "Running" {
		out = append(out, action{"Stop the operation", "kubectl towline stop" + at})
	}
	return append(out, pause,
		action{"Move the Application to a different cluster", "kubectl towline move" + at + " --to CLUSTER"},
		action{"Leave the Application on the cluster, without Towline", "kubectl towline release" + at},
		action{"Delete the Application on the hub and on the cluster", "kubectl towline delete" + at},
		action{"Show the whole Application", "kubectl -n " + app.Namespace + " get applications.argoproj.io " + app.Name + " -o yaml"},
	)
}
