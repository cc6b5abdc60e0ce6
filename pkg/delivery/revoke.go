package delivery

import (
	"fmt"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// revocation is the result for a work whose Application has lost the right to the cluster.
type revocation struct {
	// block is the message; nil for none.
	block *block

	// kept is true if the work stays, because no rule forbids the Application.
	kept bool

	// begun is true if the removal has begun.
	begun bool
}

// revocable are the steps before a removal by revocation. The work stays if an object is only missing, or if too many
// works would be removed at the same time. The work also stays during a grace period for the correction of a mistake.
var revocable = []*Gate{
	{Name: "grant missing", Type: forbidden, step: waitForObject},
	{Name: "too many revocations", Type: forbidden, Reason: apis.ReasonRevocationHeld, step: waitForFewer},
	{Name: "grace", Type: forbidden, Timed: true, step: waitForGrace},
}

// revocationNotice is the notice about a removal under way.
var revocationNotice = &Gate{Name: "revocation", Type: forbidden}

// revoke removes an Application from clusters where a rule forbids the Application. The content of each work counts,
// and not the present spec on the hub: a mistake in the spec does not run anywhere. If only the permitting object is
// missing, no rule forbids the Application, and the work stays.
//
// revoke comes before all releases: a release or a removed label does not keep a work without a right. Other requests
// of the author continue until the removal begins: a deletion, and a change that makes the Application permitted
// again. kept are the blocks to show only together with other conditions of the plan. pending are the blocks to show
// in any case. stops is true if the decision must do nothing else.
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
		case r.kept: // the Application is to be on another cluster
		case !r.begun && (sent || deleted), r.begun && !own && (sent || deleted && d.App.ToBeForced()):
			pending = append(pending, r.block)
		default:
			stops = true
			d.plan.addCondition(r.block)
		}
	}
	return kept, pending, stops
}

// revokeWork removes the Application from a cluster after a rule has refused the Application for long enough.
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
	s.untouched = deletableUnseen(s.ManifestWork, true)
	if b := d.advance(revoking, s); b != nil {
		if b.Type == "" {
			b = d.plan.blockAt(revocationNotice, blockFor(refusal.Reason, "being removed from cluster "+s.Namespace+": "+refusal.Message))
		}
		return revocation{block: b, begun: true}
	}
	d.plan.addStep(Step{Write: work.Deletion(s.ManifestWork), Log: removed.log, Revokes: true, Events: append(removed.of(s), Event{
		Related: s.ManifestWork, Warning: true, Reason: apis.ReasonRevoked, Action: "Revoke",
		Note: fmt.Sprintf("cluster %s was asked to remove the Application, which is no longer permitted there: %s", s.Namespace, refusal.Message),
	})})
	d.going = append(d.going, s.UID)
	return revocation{}
}

// waitForObject keeps a work unchanged while the permitting object is missing.
func waitForObject(v *view, s *subject) block {
	r := v.Revoked[s.UID].Refusal
	if r.Missing == "" {
		return done
	}
	wait := blockf("cluster %s keeps the Application unchanged, because a missing object is not a reason to remove an Application: %s",
		s.Namespace, r.Missing)
	wait.Reason = r.Reason
	return wait
}

// waitForFewer keeps a work while too many works would be removed at the same time.
func waitForFewer(v *view, s *subject) block {
	r := v.Revoked[s.UID]
	if !r.TooMany {
		return done
	}
	return blockf("cluster %s keeps the Application unchanged: more than %d Applications lost their permission at the same time, so Towline "+
		"removes no Application until all are permitted again. To remove an Application nevertheless, delete the Application on the hub: %s",
		s.Namespace, v.Revocation.WithDefaults().Limit, r.Refusal.Message)
}

// waitForGrace waits for the known time of the removal.
func waitForGrace(v *view, s *subject) block {
	r := v.Revoked[s.UID]
	when := r.Since.Add(v.Revocation.WithDefaults().Grace)
	if !when.After(v.Now) {
		return done
	}
	wait := blockf("cluster %s is asked to remove the Application at %s, unless the Application is permitted again by then: %s",
		s.Namespace, when.UTC().Format(time.RFC3339), r.Refusal.Message)
	wait.Reason, wait.After = r.Refusal.Reason, max(when.Sub(v.Now), time.Millisecond)
	return wait
}
