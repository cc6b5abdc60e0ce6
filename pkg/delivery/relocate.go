package delivery

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// relocating are the steps of the own work, in order, to move an Application to another namespace of the same cluster:
// see relocates. After the steps, the Application is sent to the new namespace.
var relocating = []*Gate{
	{Name: "return", Type: forbidden, step: returnFirst},
	{Name: "relocation", Type: moving, Reason: apis.ReasonMoving, step: dropFinalizersFirst},
}

// relocates reports whether the work has the Application in another namespace of the same cluster, and the agent may
// have applied the Application there.
func (v *view) relocates() bool {
	if v.Own == nil || v.deletionRequested(v.Own) {
		return false
	}
	from := targetIn(v.Own, v.App)
	return from.Namespace != v.App.ClusterNamespace() && !v.unseen(v.App, v.Own) &&
		work.CarriesTo(v.Own, from) // otherwise the cluster has changed the content of the work
}

// allowed returns the Application, at the target and with the addresses of repositories that are allowed now. If the work
// carries a request, the target stays until the answer to the request.
func (v *view) allowed() *argocd.Application {
	app := v.App
	if v.claimsDirectly() {
		app = app.ReadingAt("")
	}
	if v.relocates() && work.CarriesRequest(v.Own) {
		return work.ApplicationOn(app, v.Own)
	}
	return app
}

// returnFirst handles a change of the namespace while the work carries a request. A request has no finalizers, so the
// Application must first return to its former place. A changed Application may not be permitted there any more, and
// the cluster's form of the Application is unknown. An agent that has not answered the request is awaited as usual,
// with the Application at its former place.
func returnFirst(v *view, s *subject) block {
	switch {
	case !work.CarriesRequest(s.ManifestWork):
		return done
	case !v.knows(FactReturn):
		return require(FactReturn)
	}
	r := v.Return[s.UID]
	if r == nil {
		return done
	}
	why, _, _ := strings.Cut(r.Message, ": ") // the advice after the colon is for an Application that asks for this place
	wait := blockf("moving from namespace %s to namespace %s of cluster %s: the Application in the old namespace has to lose its finalizers "+
		"first, so that the deployed resources stay. The Application has changed on the hub since the last operation was sent, and the new form "+
		"is not permitted in the old namespace: %s. Undo the change until the move is over, or permit the new form in the old namespace until then",
		v.allowed().ClusterNamespace(), v.App.ClusterNamespace(), v.App.Cluster(), why)
	wait.Reason = r.Reason
	return wait
}

// dropFinalizersFirst waits before a change of the namespace until the old Application has no finalizers. With the
// next write, the agent removes the old Application, and a cascade would remove the workload that the new Application
// takes over. The step waits until the agent has applied the change, and while users on the cluster hold the old
// Application by finalizers.
func dropFinalizersFirst(v *view, s *subject) block {
	w, report := s.ManifestWork, v.report(s.ManifestWork)
	if work.CarriesRequest(w) {
		return done
	}
	wait := blockf("moving to namespace %s of cluster %s: waiting for its work agent to remove the finalizers from the Application in namespace "+
		"%s, so that the deployed resources stay", v.App.ClusterNamespace(), v.App.Cluster(), targetIn(w, v.App).Namespace)
	updated, changed := work.PrepareRemoval(w, nil)
	switch {
	case changed:
		return wait.changing(w, updated)
	case report.FinalizersDropped(false), v.keptThere(report):
		return done
	case blocker(report) != "":
		wait.Message += "; but " + blocker(report) + ". To change the Application in the old namespace, undo the change of namespace"
	}
	return v.askAgain(w, wait)
}

// keptThere reports whether the Application in the old namespace belongs to the work of an earlier Application of the
// same name. A restore of the hub may have brought the earlier Application back. The old Application then stays when
// the own work leaves. The earlier work ends after the apply of the own work.
func (v *view) keptThere(own *work.Report) bool {
	changesNothing := work.UpdateModeOf(own.Work) == work.ReadOnly || own.Conflicts() != ""
	return changesNothing && slices.ContainsFunc(v.staying(v.Others), own.OwnedBy)
}
