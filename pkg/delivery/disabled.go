package delivery

import "github.com/towline-io/towline/pkg/work"

// If an older controller has set a work of Towline to ReadOnly, Towline first restores the former mode. The agent's
// answer is then about the former mode: see work.Disabled. The change of the work wakes the controller for the next
// decision. Each list of steps has its own gate, because each list skips different works.
var (
	// enableToSend skips the works written by older controllers, because the takeover rewrites these works.
	enableToSend = &Gate{Name: "disabled", step: func(v *view, _ *subject) outcome {
		if v.Own == nil || work.ByOlder(v.Own) {
			return done
		}
		return enable(v, v.subject(v.Own))
	}}
	enableToRemove = &Gate{Name: "disabled", step: func(v *view, s *subject) outcome {
		if deletableUnseen(s.ManifestWork, false) {
			return done
		}
		return enable(v, s)
	}}
	enableToRevoke = &Gate{Name: "disabled", step: func(v *view, s *subject) outcome {
		if deletableUnseen(s.ManifestWork, true) {
			return done
		}
		return enable(v, s)
	}}
	enableToRelease = &Gate{Name: "disabled", step: func(v *view, s *subject) outcome {
		if unseen(s.app, s.ManifestWork) {
			return done
		}
		return enable(v, s)
	}}
)

func enable(v *view, s *subject) outcome {
	if v.deletionRequested(s.ManifestWork) || !work.Disabled(s.ManifestWork) {
		return done
	}
	return waitf("an older controller has set ManifestWork %s/%s to ReadOnly, and Towline restores the update strategy", s.Namespace, s.Name).
		changing(s.ManifestWork, work.Enabled(s.ManifestWork))
}
