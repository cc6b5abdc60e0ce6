package envtest_test

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// automate returns a scene with an automatically synced Application on an available cluster.
func automate(t *testing.T) *scene {
	t.Helper()
	c := cluster(t)
	availability(t, c, metav1.ConditionTrue, "")
	s := at(t, c)
	s.app.Spec.Raw = []byte(strings.TrimSuffix(string(s.app.Spec.Raw), "}") + `,"syncPolicy":{"automated":{"selfHeal":true}}}`)
	return s
}

// bound returns a scene as automate does, with a delivered Application and a binding to the global set. The returned
// function deletes the binding.
func bound(t *testing.T) (*scene, *workv1.ManifestWork, func()) {
	t.Helper()
	s := automate(t)
	b := binding(s.namespace, globalSet)
	create(t, b)
	return s, s.deployed(t), func() { take(t, b) }
}

// expectFrozen waits until automated sync is off in the work of a scene, and returns the work.
func expectFrozen(t *testing.T, s *scene) *workv1.ManifestWork {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		w := workOf(t, s.app)
		g.Expect(w).NotTo(BeNil())
		g.Expect(work.Frozen(w)).To(BeTrue(), "the cluster goes on to sync automatically")
		g.Expect(work.RunsByItself(w)).To(BeFalse())
	}, soon, tick).Should(Succeed())
	return workOf(t, s.app)
}

// expectThawed waits until the work of a scene equals the Application on the hub.
func expectThawed(t *testing.T, s *scene) {
	t.Helper()
	expectAllowed(t, s.app)
	if w := workOf(t, s.app); work.Frozen(w) || !work.RunsByItself(w) {
		t.Error("it is still frozen")
	}
}

// TestAWithdrawnRightStopsAutomatedSync: each way to lose a permission switches automated sync off, keeps all other
// settings, and shows a condition.
func TestAWithdrawnRightStopsAutomatedSync(t *testing.T) {
	start(t, strict)
	rows := maps.Clone(refusals)
	for title, row := range absences {
		rows["missing: "+title] = row.given
	}
	for title, given := range rows {
		t.Run(title, func(t *testing.T) {
			s := automate(t)
			lose := given(t, s)
			w := s.deployed(t)
			before, _ := work.Carried(w)
			lose()
			after, _ := work.Carried(expectFrozen(t, s))
			if spec := strings.Replace(string(before.Spec.Raw), `,"syncPolicy":{"automated":{"selfHeal":true}}`, "", 1); spec != string(after.Spec.Raw) {
				t.Errorf("the content changed: %s", after.Spec.Raw)
			}
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "asked to stop automated sync")
		})
	}
}

// TestAFreezeEndsByItself: the hub shows the progress of the freeze, sends no changes meanwhile, and writes nothing
// twice. After the permission is back, the hub sends the pending changes.
func TestAFreezeEndsByItself(t *testing.T) {
	start(t, strict)
	s, _, lose := bound(t)
	lose()
	w := expectFrozen(t, s)
	expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "has not confirmed the stop yet")
	applied(t, w)
	expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "has confirmed that automated sync is off")
	edit(t, s.app, func(a *argocd.Application) {
		a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), `"path":"a"`, `"path":"b"`, 1))
	})
	settled(t)
	if now := workOf(t, s.app); now.Generation != w.Generation {
		t.Error("the work was written again")
	}
	create(t, binding(s.namespace, globalSet))
	expectThawed(t, s)
}

// TestNoAuthorHoldsAFreeze: no change by the author of an Application keeps automated sync on.
func TestNoAuthorHoldsAFreeze(t *testing.T) {
	start(t, strict)
	for title, escape := range map[string]func(*argocd.Application){
		"a pause": func(a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = "true" },
		"a project that nobody has": func(a *argocd.Application) {
			a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), `"project":"`, `"project":"no-`, 1))
		},
		"an odd annotation": func(a *argocd.Application) { a.Annotations[apis.AnnotationAdopt] = "perhaps" },
		"a release":         func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" },
		"a false label":     func(a *argocd.Application) { a.Labels[apis.LabelPull] = "false" },
	} {
		t.Run(title, func(t *testing.T) {
			s, _, lose := bound(t)
			edit(t, s.app, escape)
			settled(t)
			lose()
			expectFrozen(t, s)
		})
	}
}

// TestASyncDoesNotHoldAFreeze: a tenant asks for a sync and changes the Application, and then the right is lost. The
// freeze waits for the cluster's answer to the sync. After the answer, the cluster gets the earlier content without
// automated sync.
func TestASyncDoesNotHoldAFreeze(t *testing.T) {
	start(t, strict)
	for title, lose := range map[string]func(*testing.T, *scene, func()){
		"the cluster":    func(_ *testing.T, _ *scene, unbind func()) { unbind() },
		"the repository": func(t *testing.T, s *scene, _ func()) { s.forbid(t) },
	} {
		t.Run(title, func(t *testing.T) {
			s, _, unbind := bound(t)
			report(t, s.app, feedbackOf(s.app).Healthy("a"))
			expectHealth(t, s.app, "Healthy")
			request(t, s.app, `{"sync":{"revision":"abc"}}`)
			id := sentOperation(t, s.app, "")
			edit(t, s.app, func(a *argocd.Application) {
				a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), `"path":"a"`, `"path":"b"`, 1))
			})
			lose(t, s, unbind)
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "after the cluster has answered the requested sync")
			reportHeld(t, s.app, operationReport(s.app, "Running", id).String("resourceVersion", "2"))
			held, _ := work.Carried(expectFrozen(t, s))
			if spec := string(held.Spec.Raw); !strings.Contains(spec, `"path":"a"`) {
				t.Errorf("the cluster gets other content: %s", spec)
			}
		})
	}
}

// TestAPausedClusterHoldsAFreeze: a paused cluster delays the freeze. An unreachable cluster does so too, because a
// PlacementDecision also drops an unreachable cluster.
func TestAPausedClusterHoldsAFreeze(t *testing.T) {
	start(t, strict)
	for title, tc := range map[string]struct {
		hold, end func(*testing.T, *scene)
		says      string
	}{
		"paused": {
			hold: func(t *testing.T, s *scene) { annotate(t, managedCluster(s.app.Cluster()), "true") },
			end:  func(t *testing.T, s *scene) { annotate(t, managedCluster(s.app.Cluster()), "false") },
			says: "still syncs the Application automatically",
		},
		"away": {
			hold: func(t *testing.T, s *scene) { availability(t, s.cluster, metav1.ConditionUnknown, "no lease") },
			end:  func(t *testing.T, s *scene) { availability(t, s.cluster, metav1.ConditionTrue, "") },
			says: "when the cluster is available again",
		},
	} {
		t.Run(title, func(t *testing.T) {
			s, w, lose := bound(t)
			tc.hold(t, s)
			settled(t)
			lose()
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, tc.says)
			if now := workOf(t, s.app); now.Generation != w.Generation {
				t.Error("the work was written")
			}
			tc.end(t, s)
			expectFrozen(t, s)
		})
	}
}
