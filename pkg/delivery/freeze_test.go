package delivery

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

const automatedSpec = `{"destination":{"namespace":"a"},"source":{"path":"p","repoURL":"r"},"syncPolicy":{"automated":{"selfHeal":true}}}`

// automatic returns an Application with automated syncs.
func automatic() *fixture.ApplicationBuilder { return cascading().Spec(automatedSpec) }

// withdrawn removes the right from the content of all works, and from the spec of the Application.
func withdrawn(s *situation) {
	s.Refused = refusal()
	lostThere(s)
}

// lostThere removes the right from the content of all works.
func lostThere(s *situation) {
	s.Lost = map[types.UID]*authorization.Refusal{}
	for _, w := range s.all() {
		s.Lost[w.UID] = refusal()
	}
}

// frozenAnd freezes a work, with or without the agent's apply of the freeze.
func frozenAnd(applied bool) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		out, changed := work.Freeze(w)
		if !changed {
			panic("nothing to freeze")
		}
		out.Generation++
		*w = *out
		if applied {
			reports("Healthy")(w)
		}
	}
}

// requesting puts a sync on its way into a work.
func requesting(w *workv1.ManifestWork) {
	before := w.DeepCopy()
	sent := relay.Sent{State: relay.OnItsWay, ID: "1", Version: "5", Digest: "d", Instead: work.Brings(w)}
	w.Annotations[apis.AnnotationRequestSent] = sent.String()
	if err := work.Carry(w, automatic().Obj(), work.Request{Operation: []byte(`{"sync":{}}`), Version: "5"}); err != nil {
		panic(err)
	}
	work.KeepReplaced(w, before)
	w.Generation++
}

// requestingBefore puts a sync on its way into a work, as an earlier Towline did: without the replaced Application.
func requestingBefore(w *workv1.ManifestWork) {
	requesting(w)
	delete(w.Annotations, apis.AnnotationReplaced)
}

func TestFreeze(t *testing.T) {
	const told = "PropagationForbiddenError ClusterForbidden"
	unpermitted := func(s *situation) { s.Refused = refusal() }
	released := automatic().Annotation(apis.AnnotationRelease, "true")
	decides(t, map[string]row{
		"withdrawn": {is: of(automatic()).own(t).with(withdrawn), want: []string{"update cluster1", told},
			says: "cluster cluster1 has been asked to stop automated sync, and has not confirmed the stop yet"},
		"frozen, not applied": {is: of(automatic()).own(t, frozenAnd(false)).with(withdrawn), want: []string{told}, says: "has not confirmed the stop yet"},
		"frozen": {is: of(automatic()).own(t, frozenAnd(true)).with(withdrawn), want: []string{told},
			says: "cluster cluster1 has confirmed that automated sync is off. The workload is unchanged. Automated sync continues when"},
		"frozen, and an operation runs": {
			is: of(automatic()).own(t, frozenAnd(true),
				reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", "2026-01-01T00:00:00Z")).with(withdrawn),
			want: []string{told}, says: "is off. An operation still runs on the cluster, and may deploy newer commits: terminate the operation"},
		"permitted again":                 {is: of(automatic()).own(t, frozenAnd(true)), want: []string{"update cluster1"}},
		"synced by hand":                  {is: of(cascading()).own(t).with(withdrawn), want: []string{told}},
		"the hub's spec alone is refused": {is: of(automatic()).own(t).with(unpermitted), want: []string{told}},
		"to go elsewhere, which is refused": {
			is: of(automatic()).at(t, "cluster2", fixture.UID).with(unpermitted), want: []string{told},
			says: "until then, cluster cluster2 keeps the Application"},
		"lost on the old cluster": {
			is:   of(automatic()).at(t, "cluster2", fixture.UID).with(lostThere),
			want: []string{"create cluster1", "  event Propagated", "update cluster2", "MoveWarning Moving"}, says: "cluster2 has been asked to stop"},
		"on an unreachable cluster": {
			is: of(automatic()).own(t).with(withdrawn).cluster("cluster1", away), want: []string{told}, says: "when the cluster is available again"},
		"on a paused cluster": {is: of(automatic()).own(t).with(withdrawn).cluster("cluster1", pausedCluster),
			want: []string{"PausedWarning Paused", told}, says: "still syncs the Application automatically"},
		"paused by its author": {is: of(automatic()).own(t).with(withdrawn, func(s *situation) { s.Paused = "it" }),
			want: []string{"update cluster1", "PausedWarning Paused", told}},
		"released by its author": {is: of(released).own(t).with(lostThere), want: []string{"update cluster1", "ReleaseWarning Releasing", told},
			says: "asked to stop automated sync"},
		"released, and that is applied": {
			is: of(released).own(t, frozenAnd(true), releasedAnd(true)).with(lostThere,
				func(s *situation) { s.Dependencies = map[types.UID]bool{s.Own.UID: true} }),
			want: []string{"delete cluster1", "  event Released", "ReleaseWarning Releasing"}},
		"deleted, and waiting": {
			is:   of(deletedApp(app().Spec(automatedSpec))).own(t).with(lostThere),
			want: []string{"update cluster1", told}},
		"deleted": {is: of(deletedApp(automatic())).own(t).with(lostThere), want: []string{"delete cluster1", "  event WorkDeleted", deletionWaits}},
		"a sync is on its way": {
			is: of(automatic()).own(t, requesting).with(withdrawn), want: []string{told}, says: "after the cluster has answered the requested sync"},
		"a sync has arrived": {
			is: of(automatic()).own(t, requesting, reports("Healthy")).with(withdrawn), want: []string{"update cluster1", told}},
		"a sync has arrived, and the spec has changed": {
			is:   of(automatic().Spec(`{"destination":{"namespace":"b"}}`)).with(delivered(t, requesting, reports("Healthy")), withdrawn),
			want: []string{"update cluster1", told}, says: "asked to stop automated sync"},
		"a sync of an earlier Towline has arrived": {
			is: of(automatic()).own(t, requestingBefore, reports("Healthy")).with(withdrawn), want: []string{"update cluster1", told}},
		"a sync of an earlier Towline has arrived, and the spec has changed": {
			is:   of(automatic().Spec(`{"destination":{"namespace":"b"}}`)).with(delivered(t, requestingBefore, reports("Healthy")), withdrawn),
			want: []string{told}, says: "after the cluster has answered"},
		"the changed spec is too large": {
			is:   of(automatic().Spec(large)).with(delivered(t), lostThere),
			want: []string{"update cluster1", "PropagationError PayloadTooLarge", told}, says: "asked to stop automated sync"},
		"the API server refuses the changed spec": {
			is: of(automatic().Spec(`{"destination":{"namespace":"b"}}`)).with(delivered(t), lostThere,
				func(s *situation) { s.Refusal = &Rejection{Message: "no"} }),
			want: []string{"update cluster1", "PropagationError WorkRejected", told, "backoff"}, says: "asked to stop automated sync"},
		"another's": {is: of(automatic()).own(t, claimsBy(work.ReadOnly)).with(withdrawn), want: []string{told}},
	})
}

// large is a spec that does not fit into a ManifestWork.
var large = `{"destination":{"namespace":"b"},"source":{"path":"` + strings.Repeat("p", work.MaxPayload) + `"}}`

// delivered sets the work with the automatic Application, and the given changes.
func delivered(t *testing.T, edits ...func(*workv1.ManifestWork)) func(*situation) {
	return func(s *situation) { s.Own = workFor(t, automatic().Obj(), edits...) }
}

// TestADeliveryReadsNoFreeze: the delivery of an Application needs no further check of rights.
func TestADeliveryReadsNoFreeze(t *testing.T) {
	s := of(automatic()).own(t)
	s.Known &^= FactRights
	if plan := Decide(s.Facts, s.Options); plan.Required != 0 {
		t.Errorf("needs %b", plan.Required)
	}
	if plan := Decide(s.with(func(s *situation) { s.Refused = refusal() }).Facts, s.Options); plan.Required != FactRights {
		t.Errorf("refused: needs %b", plan.Required)
	}
}
