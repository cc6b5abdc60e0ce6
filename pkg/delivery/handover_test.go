package delivery

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// pushedTo returns an Application that the hub's own Argo CD deploys to the destination.
func pushedTo(destination string) *fixture.ApplicationBuilder {
	return cascading().NoAnnotation(apis.AnnotationSkipReconcile).
		Spec(`{"project":"default","source":{"repoURL":"r"},"destination":` + destination + `,"syncPolicy":{"automated":{}}}`)
}

// handed changes a work for a hand-over.
func handed(w *workv1.ManifestWork) {
	out, _ := work.PrepareRemoval(w, nil)
	out, _ = work.HandOver(out)
	out.Generation++
	*w = *out
}

// handedAnd hands a work over, and sets the agent's report: applied, with the values and the mark.
func handedAnd(values ...string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		handed(w)
		held, _ := work.Carried(w)
		reports("Healthy", append(values, "finalizersDropped", held.Annotations[apis.AnnotationFinalizersDropped])...)(w)
	}
}

func TestHandOver(t *testing.T) {
	const to, addressed = `{"name":"cluster1"}`, `{"server":"https://c1.example.com/"}`
	unlabelled := func(destination string) *fixture.ApplicationBuilder {
		return pushedTo(destination).NoLabel(apis.LabelPull)
	}
	stay := func(s *situation) { s.Dependencies = map[types.UID]bool{s.all()[0].UID: true} }
	itself := func(s *situation) { s.Addresses = map[string][]string{"cluster1": {"https://c1.example.com"}} }
	missing := "PropagationError SkipReconcileMissing"
	decides(t, map[string]row{
		"the label and skip-reconcile are gone": {
			is: of(unlabelled(to)).own(t), want: []string{"update cluster1", releaseWaits}, says: "remove spec.syncPolicy.automated on the hub"},
		"skip-reconcile alone is gone": {
			is: of(pushedTo(to)).own(t), want: []string{missing}, says: "both Argo CDs may deploy. To hand the Application over"},
		"skip-reconcile alone is gone, half way there": {is: of(pushedTo(to)).own(t, handed), want: []string{missing}},
		"skip-reconcile alone is gone, while it was released": {
			is: of(pushedTo(to)).own(t, releasedAnd(false)), want: []string{missing}, says: "waiting for the work agent"},
		"and that is not applied": {is: of(unlabelled(to)).own(t, handed), want: []string{releaseWaits}},
		"and its dependencies would go": {
			is: of(unlabelled(to)).own(t, handedAnd()), want: []string{releaseWaits}},
		"and all is done there": {
			is:   of(unlabelled(to)).own(t, handedAnd()).with(stay),
			want: []string{"delete cluster1", "  event Released", releaseWaits}},
		"and others hold it there": {
			is:   of(unlabelled(to)).own(t, handedAnd("finalizerLeft", apis.FinalizerResources)).with(stay),
			want: []string{releaseWaits}, says: `-p '{"metadata":{"finalizers":null}}'`},
		"and nothing is left":  {is: of(unlabelled(to).Health("Healthy").Condition("ReleaseWarning", "old")), want: []string{"hub: conditions go"}},
		"and it is taken back": {is: of(cascading()).own(t, handedAnd()), want: []string{"update cluster1"}},
		"while it was released": {
			is: of(unlabelled(to)).own(t, releasedAnd(true)), want: []string{"update cluster1", releaseWaits}, says: "handed over"},
		"and is deleted": {
			is:   of(deletedApp(pushedTo(to))).own(t),
			want: []string{"update cluster1", "DeletionWarning Deleting"}, says: "handed over"},
		"unseen":                  {is: of(unlabelled(to)).own(t, unseenYet), want: []string{"delete cluster1", "  event Released", releaseWaits}},
		"unseen, and reported on": {is: of(unlabelled(to).Health("Healthy")).own(t, unseenYet), want: []string{"update cluster1", releaseWaits}},
		"on a paused cluster": {
			is: of(unlabelled(to)).own(t).cluster("cluster1", pausedCluster), want: []string{"PausedWarning Paused"}},
	})
	for title, tc := range map[string]struct {
		is   *situation
		goes bool
	}{
		"by its name":    {of(unlabelled(to)), true},
		"by its address": {of(unlabelled(addressed)).with(itself), true},
		"by the address that administrators gave": {
			of(unlabelled(addressed)).cluster("cluster1", func(f *managedcluster.Facts) { f.Server = "https://c1.example.com" }), true},
		"by an address that it only claims": {
			of(unlabelled(addressed)).with(itself).cluster("cluster1", func(f *managedcluster.Facts) { f.Server = "https://other" }), false},
		"by an address that is not known": {of(unlabelled(addressed)), false},
		"to another cluster":              {of(unlabelled(`{"name":"cluster2"}`)), false},
		"to the hub":                      {of(unlabelled(`{"server":"` + apis.InClusterServer + `"}`)), false},
		"and keeps it there":              {of(unlabelled(to).Annotation(apis.AnnotationRelease, "true")), false},
		"which does not deploy it yet":    {of(unlabelled(to).Annotation(apis.AnnotationSkipReconcile, "true")), false},
	} {
		plan := Decide(tc.is.own(t).Facts, tc.is.Options)
		if len(plan.Steps) != 1 {
			t.Fatalf("%s: %v", title, outline(&plan))
		}
		w := plan.Steps[0].Work
		held, _ := work.Carried(w)
		if work.HandedOver(w) != tc.goes || work.Released(w) == tc.goes || work.RunsByItself(w) == tc.goes || argocd.Destroys(held.Finalizers) {
			t.Errorf("%s: %v, %s", title, w.Annotations, w.Spec.Workload.Manifests[0].Raw)
		}
	}
}

// TestReleasedAndNotPushed: a released Application explains how the hub's own Argo CD can take over, without two Argo
// CDs deploying at the same time.
func TestReleasedAndNotPushed(t *testing.T) {
	skipping := func(destination string) *fixture.ApplicationBuilder {
		return pushedTo(destination).NoLabel(apis.LabelPull).Annotation(apis.AnnotationSkipReconcile, "true").Health("Healthy")
	}
	decides(t, map[string]row{
		"released, and to be pushed": {is: of(skipping(`{"name":"cluster1"}`)), want: []string{"ReleaseWarning "}, says: "set the label again"},
	})
	s := of(skipping(`{"name":"cluster2"}`))
	plan := Decide(s.Facts, s.Options)
	if len(plan.Conditions) != 1 || strings.Contains(plan.Conditions[0].Message, "set the label again") {
		t.Errorf("it tells of a cluster that the Application is not on: %v", plan.Conditions)
	}
}

// TestHubOperation: a sync started by the hub's own Argo CD does not run again on the cluster.
func TestHubOperation(t *testing.T) {
	begun := func(phase string, pushed bool) *situation {
		s := of(cascading())
		s.App.Operation = &runtime.RawExtension{Raw: []byte(`{"sync":{}}`)}
		s.App.Status.OperationState = &argocd.OperationState{Phase: phase, StartedAt: "2026-01-01T00:00:00Z"}
		s.App.Status.Pushed = pushed
		return s
	}
	const waits = "PropagationError HubOperationRunning"
	relays := []string{`hub: operation {"info":[{"name":"apps.open-cluster-management.io/request","value":"1700000000-identity"}],"sync":{}}`}
	decides(t, map[string]row{
		"begun on the hub":     {is: begun("Running", true), want: []string{waits}, says: "remove the annotation argocd.argoproj.io/skip-reconcile"},
		"ended on the hub":     {is: begun("Succeeded", true), want: relays},
		"begun on the cluster": {is: begun("Running", false), want: relays},
		"begun, and given up": {
			is: begun("Running", true).with(func(s *situation) { s.App.Operation = nil }), want: []string{"create cluster1", "  event Propagated"}},
		"begun, and the work exists": {is: begun("Running", true).own(t), want: relays},
	})
}
