package delivery

import "github.com/towline-io/towline/pkg/work"

// askDisabled is for a work of Towline's that an older controller has set to ReadOnly: see work.Disabled. It goes back to what it was
// before anything else is made of it, so that its agent's answer is about that. The older controllers' own works are left to what
// takes them over in one write. The change of the work wakes the decision that goes on.
func askDisabled(d *decision, q question) answer {
	w := q.work
	if q.intent == Deliver {
		w = d.Own
	}
	if w == nil || d.leaving(w) || !work.Disabled(w) {
		return open
	}
	switch q.intent {
	case Deliver:
		if work.ByOlder(w) {
			return open
		}
	case Leave:
		if unseen(d.App, w) {
			return open
		}
	default:
		if goesUnseen(w, q.intent == Revoke) {
			return open
		}
	}
	d.update(w, work.Enabled(w))
	return because("an older controller has set ManifestWork %s/%s to ReadOnly, and it goes back to what it was", w.Namespace, w.Name)
}
