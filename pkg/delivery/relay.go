package delivery

import (
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

// relaying sends the requests of an Application to the cluster: an operation, its termination, and a refresh.
type relaying struct {
	*view
	relay.Answer

	// to is the Application, at the target that is allowed now.
	to *argocd.Application

	// withheld is true if the requested operation stays on the hub: see withhold.
	withheld bool

	// seen is the cluster's report.
	seen *feedback.Observation

	// requests are the requests to be stored in the work.
	requests work.Requests

	// changed is true if the agent must apply the work again.
	changed bool
}

// relay sends the requests of the Application to the cluster, and removes finished requests from the Application:
// package relay decides. A forbidden operation stays on the hub, where a user can withdraw the operation, and blocks no
// other request.
func (d *decision) relay(to *argocd.Application, withheld bool) (*relaying, *block) {
	r := &relaying{view: &d.view, to: to, withheld: withheld, seen: &feedback.Observation{}}
	if d.withdrawSent(d.Others) || d.Own != nil && d.deletionRequested(d.Own) && d.withdrawSent(works{d.Own}) {
		r.HubFirst = true
		return r, nil
	}
	if d.Own != nil {
		r.seen = d.observed(d.Own, to)
	}
	r.Answer = relay.Decide(r.facts())
	if b := r.tooLarge(); b.Message != "" {
		return r, d.plan.blockAt(operationUnread, b)
	}
	if d.require(requiredBy(&r.Answer)) {
		return r, &block{}
	}
	if r.Operation != nil {
		d.plan.hub().Operation = r.Operation
	}
	if r.AskRefresh != "" {
		d.plan.hub().Annotations = map[string]*string{apis.AnnotationRefresh: &r.AskRefresh}
	}
	switch {
	case r.RefreshEnds:
		d.dropRefresh(0, *r.Warning)
	case r.Warning != nil:
		d.refresh = r.Warning
	}
	if r.Dropped {
		d.plan.Events = append(d.plan.Events, droppedEvent)
	}
	r.request()
	return r, nil
}

// facts returns the facts for the decision about the requests.
func (r *relaying) facts() relay.Facts {
	f := relay.Facts{
		Now: r.Now, App: r.to, Withheld: r.withheld, Seen: r.seen, Latest: r.knows(FactLatest), Outdated: r.Outdated,
	}
	if r.knows(FactIdentity) {
		f.Identity = r.Identity
	}
	if r.Own != nil {
		stored, report := work.Sent(r.Own), r.report(r.Own)
		there, whole := work.Carried(r.Own)
		f.Work = &relay.Work{
			Stored: stored, Result: resultOf(report), Respecified: whole && payload.Respecified(there, r.to),
			Ready: report.Applied() && stored.Last.State != relay.OnItsWay && (!whole || !payload.Behind(there, r.to)),
		}
	}
	return f
}

// resultOf returns the agent's answer to a request.
func resultOf(report *work.Report) relay.Result {
	return relay.Result{Outcome: report.Outcome(), Outdated: report.Outdated()}
}

// requiredBy returns the facts to read before the decision about the requests.
func requiredBy(a *relay.Answer) (n FactSet) {
	if a.NeedIdentity {
		n |= FactIdentity
	}
	if a.NeedLatest {
		n |= FactLatest
	}
	return n
}

// tooLarge blocks the sending of an operation whose work could not store the Application meanwhile. A freeze could not
// put back a large Application with automated sync.
func (r *relaying) tooLarge() block {
	if len(r.SentOperation) == 0 || !work.RunsByItself(r.Own) {
		return pass
	}
	if _, fits := work.PackReplaced(r.Own); fits {
		return pass
	}
	return blockFor(apis.ReasonOperationInvalid, fmt.Sprintf("the Application has automated sync and more than %d KiB in compressed form, so an "+
		"operation cannot be sent: remove the operation, or move inline values into the Git repository", work.MaxReplaced>>10))
}

// droppedEvent is the event about an operation without a sync.
var droppedEvent = Event{
	Warning: true, Reason: apis.ReasonOperationInvalid, Action: "Propagate",
	Note: "the requested operation had no field sync, so Towline removed the operation. Request the operation again, with the field sync, if " +
		"you still want a sync",
}

// request completes the requests to be stored in the work.
func (r *relaying) request() {
	if r.HubFirst {
		return
	}
	if r.Sends {
		r.Last.Instead = work.Brings(r.Own)
	}
	r.requests = work.Requests{Stored: r.Stored, Watched: r.Watched, Volatile: r.requesting() || r.volatile()}
	asks, remaining := detailed(r.Own, r.seen, r.Now)
	r.requests.Details, r.After = asks, gate.Sooner(r.After, remaining)
	r.requests.Sources = r.operationReads()
}

// requesting reports whether a request is pending, on its way, or not yet seen as finished.
func (r *relaying) requesting() bool {
	return r.Refresh.Kind != "" || r.Last.State != "" || r.to.Status.OperationState.Terminating() || r.to.Operation != nil && !r.withheld
}

// render returns the desired work of the Application.
func (r *relaying) render() (*workv1.ManifestWork, error) {
	desired, err := work.Render(r.to, r.requests)
	if err == nil && work.CarriesRequest(desired) {
		work.KeepReplaced(desired, r.Own)
	}
	switch {
	case err != nil:
		return nil, err
	case r.Unanswered:
		r.Own.Spec.DeepCopyInto(&desired.Spec)
		if mode := work.UpdateModeOf(r.Own); mode != work.ForceApply {
			work.SetUpdateMode(desired, mode)
		}
	case r.Sends:
		err = work.Carry(desired, r.to, work.Request{Operation: r.SentOperation, Version: r.Last.Version})
	}
	return desired, err
}

// operationReads returns the names of the repositories that an operation from the hub may read, until the end of the
// operation: a rollback may read a repository that the spec has lost.
func (r *relaying) operationReads() (names []string) {
	if r.Last.State != relay.OnItsWay && r.Last.State != relay.Delivered {
		return nil
	}
	for _, repo := range source.OfOperation(r.SentOperation) {
		names = append(names, source.Name(r.to.Project(), repo))
	}
	return append(names, source.ReadNames(r.Own.Annotations[apis.AnnotationSources])...)
}
