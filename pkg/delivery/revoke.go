package delivery

import (
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// revocation is what becomes of a work that its Application has lost the right to.
type revocation struct {
	// hold is what to tell; nil for nothing.
	hold *hold

	// kept tells that it stays as it is, for want of somebody who says no.
	kept bool

	// begun tells that its removal has begun.
	begun bool
}

// revoke takes an Application off the clusters where a rule says that it may not be, by what each of its works carries: what
// the Application asks for now may be a slip, and does not run anywhere. Where the object is missing that would let it be
// there, nobody has said no, and the work stays as it is.
//
// It comes before all that releases a work: a release, or a label that is taken off, does not keep what loses its right. Other
// wishes of the Application's author go on until the removal begins: its deletion, and a change by which it may be there again.
// kept is to be told beside what keeps the Application from being sent, and pending in any case; nothing else is to be done where
// it stops.
func (d *decision) revoke() (kept, pending []*hold, stops bool) {
	if !d.Revocation.Delete || d.App == nil {
		return nil, nil, false
	}
	sent := Sent(d.App)
	for _, w := range d.all() {
		r, own := d.revokeWork(w), sent && w == d.Own
		switch {
		case r.hold == nil:
		case r.kept && own:
			kept = append(kept, r.hold)
		case r.kept: // its Application is to be elsewhere
		case !r.begun && (sent || d.removed()), r.begun && !own && (sent || d.removed() && d.App.ToBeForced()):
			pending = append(pending, r.hold)
		default:
			stops = true
			d.say(r.hold)
		}
	}
	return kept, pending, stops
}

// removed tells whether the Application is being deleted, and is not to be released.
func (d *decision) removed() bool {
	return d.plan.Intent == End && !d.App.ToBeReleased() && d.App.Cluster() != ""
}

// revokeWork takes the Application off one cluster, once a rule has refused it for long enough.
func (d *decision) revokeWork(w *workv1.ManifestWork) revocation {
	refusal := d.Revoked[w.UID].Refusal
	if refusal == nil || d.leaving(w) {
		return revocation{}
	}
	for _, gate := range []struct {
		intent Intent
		out    revocation
	}{{Missing, revocation{kept: true}}, {Refused, revocation{}}} {
		if h := d.held(gate.intent, w); h != nil {
			gate.out.hold = h
			return gate.out
		}
	}
	if d.Clusters[w.Namespace].Paused != "" { // the end of the pause wakes the Application
		return revocation{}
	}
	if h := d.held(Revoke, w); h != nil {
		if h.Type == "" {
			h = d.met("revocation", answer{Words: "being removed from cluster " + w.Namespace + ": " + refusal.Message, Reason: refusal.Reason})
		}
		return revocation{hold: h, begun: true}
	}
	d.step(Step{Write: work.Deletion(w), Log: removed.log, Revokes: true, Events: append(removed.of(d, w), Event{
		Related: w, Warning: true, Reason: apis.ReasonRevoked, Action: "Revoke",
		Note: fmt.Sprintf("cluster %s was asked to remove the Application, which is no longer permitted there: %s", w.Namespace, refusal.Message),
	})})
	d.going[w.UID] = true
	return revocation{}
}

// askMissing is for a work that stays as it is for want of an object.
func askMissing(d *decision, q question) answer {
	r := d.Revoked[q.work.UID].Refusal
	if r.Missing == "" {
		return open
	}
	a := because("cluster %s keeps the Application unchanged, because Towline removes nothing when an object is only missing: %s",
		q.work.Namespace, r.Missing)
	a.Reason = r.Reason
	return a
}

// askTooMany is for a work that stays because too many would go at a time.
func askTooMany(d *decision, q question) answer {
	r := d.Revoked[q.work.UID]
	if !r.Held {
		return open
	}
	return because("cluster %s keeps it unchanged: more than %d Applications lost their permission at the same time, so Towline removes none of them "+
		"until each is permitted again. To remove the Applications, delete them: %s",
		q.work.Namespace, d.Revocation.WithDefaults().Limit, r.Refusal.Message)
}

// askGrace is for a work that goes at a time that is known, if nothing changes.
func askGrace(d *decision, q question) answer {
	r := d.Revoked[q.work.UID]
	when := r.Since.Add(d.Revocation.WithDefaults().Grace)
	if !when.After(d.Now) {
		return open
	}
	a := because("cluster %s is asked to remove the Application at %s, unless it is permitted again by then: %s",
		q.work.Namespace, when.UTC().Format(time.RFC3339), r.Refusal.Message)
	a.Reason, a.After = r.Refusal.Reason, max(when.Sub(d.Now), time.Millisecond)
	return a
}
