package delivery

import "github.com/towline-io/towline/pkg/work"

// enableFirst restores the mode of a work that an older controller has set to ReadOnly. The agent's answer is then about
// the former mode: see work.Disabled. The change of the work wakes the controller for the next decision.
var enableFirst = &Gate{Name: "disabled", step: func(v *view, s *subject) block {
	if s.untouched {
		return done
	}
	return enable(v, s)
}}

// enableToSend is enableFirst for the own work. The takeover rewrites the works that older controllers wrote.
var enableToSend = &Gate{Name: "disabled", step: func(v *view, _ *subject) block {
	if v.Own == nil || work.ByOlder(v.Own) {
		return done
	}
	return enable(v, v.subject(v.Own))
}}

func enable(v *view, s *subject) block {
	if v.deletionRequested(s.ManifestWork) || !work.Disabled(s.ManifestWork) {
		return done
	}
	return blockf("an older controller has set ManifestWork %s/%s to ReadOnly, and Towline restores the update strategy", s.Namespace, s.Name).
		changing(s.ManifestWork, work.Enabled(s.ManifestWork))
}
