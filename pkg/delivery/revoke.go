package delivery

import (
	"fmt"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// revocation is what becomes of a work that its Application has lost the right to.
type revocation struct {
	// block is what to tell; nil for nothing.
	block *block

	// kept tells that it stays as it is, for want of somebody who says no.
	kept bool

	// begun tells that its removal has begun.
	begun bool
}

// revocable are the steps before a removal: the work stays where nobody has said no, where too many works would go at a time, and for a
// time in which a mistake can be taken back.
var revocable = []*Gate{
	{Name: "grant missing", Type: forbidden, Quiet: true, step: waitForObject},
	{Name: "too many revocations", Type: forbidden, Reason: apis.ReasonRevocationHeld, Quiet: true, step: waitForFewer},
	{Name: "grace", Type: forbidden, Ends: gate.ByTime, Quiet: true, step: waitForGrace},
}

// revocationNotice tells of a removal that has begun.
var revocationNotice = &Gate{Name: "revocation", Type: forbidden, Quiet: true}

// revoke takes an Application off the clusters where a rule says that it may not be, by what each of its works carries: what
// the Application asks for now may be a slip, and does not run anywhere. Where the object is missing that would let it be
// there, nobody has said no, and the work stays as it is.
//
// It comes before all that releases a work: a release, or a label that is taken off, does not keep what loses its right. Other
// wishes of the Application's author go on until the removal begins: its deletion, and a change by which it may be there again.
// kept is to be told beside what keeps the Application from being sent, and pending in any case; nothing else is to be done where
// it stops.
func (d *decision) revoke() (kept, pending []*block, stops bool) {
	if !d.Revocation.Delete || d.App == nil {
		return nil, nil, false
	}
	sent := Sent(d.App)
	deleted := d.plan.Intent == End && !d.App.ToBeReleased() && d.App.Cluster() != ""
	for _, w := range d.all() {
		r, own := d.revokeWork(d.subject(w)), sent && w == d.Own
		switch {
		case r.block == nil:
		case r.kept && own:
			kept = append(kept, r.block)
		case r.kept: // its Application is to be elsewhere
		case !r.begun && (sent || deleted), r.begun && !own && (sent || deleted && d.App.ToBeForced()):
			pending = append(pending, r.block)
		default:
			stops = true
			d.plan.addCondition(r.block)
		}
	}
	return kept, pending, stops
}

// revokeWork takes the Application off one cluster, once a rule has refused it for long enough.
func (d *decision) revokeWork(s *subject) revocation {
	refusal := d.Revoked[s.UID].Refusal
	if refusal == nil || d.deletionRequested(s.ManifestWork) {
		return revocation{}
	}
	if b := d.advance(revocable, s); b != nil {
		return revocation{block: b, kept: refusal.Missing != ""}
	}
	if d.Clusters[s.Namespace].Paused != "" { // the end of the pause wakes the Application
		return revocation{}
	}
	if b := d.advance(revoking, s); b != nil {
		if b.Type == "" {
			b = d.plan.blockAt(revocationNotice, verdict{Words: "being removed from cluster " + s.Namespace + ": " + refusal.Message, Reason: refusal.Reason})
		}
		return revocation{block: b, begun: true}
	}
	d.plan.addStep(Step{Write: work.Deletion(s.ManifestWork), Log: removed.log, Revokes: true, Events: append(removed.of(s), Event{
		Related: s.ManifestWork, Warning: true, Reason: apis.ReasonRevoked, Action: "Revoke",
		Note: fmt.Sprintf("cluster %s was asked to remove the Application, which is no longer permitted there: %s", s.Namespace, refusal.Message),
	})})
	d.going[s.UID] = true
	return revocation{}
}

// waitForObject is for a work that stays as it is for want of an object.
func waitForObject(v *view, s *subject) outcome {
	r := v.Revoked[s.UID].Refusal
	if r.Missing == "" {
		return done
	}
	wait := waitf("cluster %s keeps the Application unchanged, because Towline removes nothing when an object is only missing: %s",
		s.Namespace, r.Missing)
	wait.Reason = r.Reason
	return wait
}

// waitForFewer is for a work that stays because too many would go at a time.
func waitForFewer(v *view, s *subject) outcome {
	r := v.Revoked[s.UID]
	if !r.Held {
		return done
	}
	return waitf("cluster %s keeps it unchanged: more than %d Applications lost their permission at the same time, so Towline removes none of them "+
		"until each is permitted again. To remove the Applications, delete them: %s",
		s.Namespace, v.Revocation.WithDefaults().Limit, r.Refusal.Message)
}

// waitForGrace is for a work that goes at a time that is known, if nothing changes.
func waitForGrace(v *view, s *subject) outcome {
	r := v.Revoked[s.UID]
	when := r.Since.Add(v.Revocation.WithDefaults().Grace)
	if !when.After(v.Now) {
		return done
	}
	wait := waitf("cluster %s is asked to remove the Application at %s, unless it is permitted again by then: %s",
		s.Namespace, when.UTC().Format(time.RFC3339), r.Refusal.Message)
	wait.Reason, wait.After = r.Refusal.Reason, max(when.Sub(v.Now), time.Millisecond)
	return wait
}
