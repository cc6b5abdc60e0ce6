package envtest_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// agentOf returns a builder for the agent's report (v1.2.0) on the Application of a work. In the report, the
// Application is applied and available.
func agentOf(t *testing.T, w *workv1.ManifestWork) *fixture.FeedbackBuilder {
	t.Helper()
	if w = get(t, w.DeepCopy()); len(w.Spec.ManifestConfigs) > 0 {
		return fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier)
	}
	held, ok := work.Carried(w)
	if !ok {
		t.Fatal("the work carries no Application")
	}
	return fixture.Feedback(work.Identifier(&argocd.Application{ObjectMeta: held.ObjectMeta}))
}

// agentSays writes the agent's report on the current generation of a work.
func agentSays(t *testing.T, w *workv1.ManifestWork, b *fixture.FeedbackBuilder) {
	t.Helper()
	editStatus(t, w.DeepCopy(), func(w *workv1.ManifestWork) { fixture.Report(w, b.Obj()) })
}

// ends are the operations after which the workload stays on its cluster, although the Application has Argo CD's
// finalizer.
var ends = map[string]func(*testing.T, *argocd.Application){
	"deleted without a cascade": dropped,
	"another namespace there": func(t *testing.T, app *argocd.Application) {
		t.Helper()
		edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "elsewhere" })
	},
}

// expectEnd waits until a work removes its Application from the old place: the work is being deleted, or contains the
// Application in a different namespace.
func expectEnd(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	NewWithT(t).Eventually(func() bool { return hasEnded(t, w) }, soon, tick).Should(BeTrue(), "it waits for ever")
}

// expectNoEnd fails if the work removes its Application from the old place.
func expectNoEnd(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	settled(t)
	if hasEnded(t, w) {
		t.Fatal("the Application goes from there, and takes along what it deployed")
	}
}

func hasEnded(t *testing.T, w *workv1.ManifestWork) bool {
	t.Helper()
	now := get(t, w.DeepCopy())
	if now == nil || !now.DeletionTimestamp.IsZero() {
		return true
	}
	held, ok := work.Carried(now)
	return ok && held.Namespace == "elsewhere"
}

// TestUnreadableIsNotAbsent: while the cluster's API server fails, the agent can neither apply a work nor report
// whether the Application exists. The Application exists, with its finalizers.
func TestUnreadableIsNotAbsent(t *testing.T) {
	start(t)
	const down = "Get \"https://10.0.0.1:443/…\": dial tcp 10.0.0.1:443: connect: connection refused"
	for title, report := range map[string]func(*fixture.FeedbackBuilder) *fixture.FeedbackBuilder{
		"it cannot be read": func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.Refused(down, metav1.ConditionUnknown)
		},
		"not even its kind can be": (*fixture.FeedbackBuilder).Unmapped,
		"what was read is said again": func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.Refused(down, metav1.ConditionTrue) // from an informer's cache, possibly older than the work
		},
	} {
		for how, end := range ends {
			t.Run(title+", "+how, func(t *testing.T) {
				app := deployed(t)
				w := workOf(t, app)
				end(t, app)
				agentSays(t, expectAsking(t, w), report(agentOf(t, w)))
				expectNoEnd(t, w)
				if how == "another namespace there" {
					expectNotice(t, app, apis.ConditionMoveWarning, "Failed to apply manifest: ")
				}
				applied(t, get(t, w))
				expectEnd(t, w)
			})
		}
	}
}

// TestAbsenceNeedsACurrentReading: an Application that was absent before the present generation of the work may exist
// by now.
func TestAbsenceNeedsACurrentReading(t *testing.T) {
	start(t)
	app := deployed(t)
	w := workOf(t, app)
	dropped(t, app)
	expectAsking(t, w)
	editStatus(t, w, func(w *workv1.ManifestWork) {
		w.Status = agentOf(t, w).Refused("no rights", metav1.ConditionFalse).Obj()
		for i := range w.Status.Conditions {
			c := &w.Status.Conditions[i]
			if c.ObservedGeneration = w.Generation; c.Type == workv1.WorkAvailable {
				c.ObservedGeneration--
			}
		}
	})
	expectNoEnd(t, w)
	agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionFalse))
	expectEnd(t, w)
}

// longAgo dates the last report on a work one hour back, by the hub's own clock. Towline must not run, because Towline
// would not notice this change.
func longAgo(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	now := get(t, w.DeepCopy())
	for i := range now.ManagedFields {
		if f := &now.ManagedFields[i]; f.Subresource == "status" {
			f.Time = &metav1.Time{Time: f.Time.Add(-time.Hour)}
		}
	}
	if err := k8s.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

// TestAClusterWithoutArgoCDsCRDs: on a cluster without Argo CD's CRDs, no Application can be lost. The agent
// reports the same message while its API server is unreachable. Therefore the message must last, and the agent must
// repeat it.
func TestAClusterWithoutArgoCDsCRDs(t *testing.T) {
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			towline := start(t)
			app := deployed(t)
			w := workOf(t, app)
			end(t, app)
			expectAsking(t, w)
			agentSays(t, w, agentOf(t, w).Unmapped())
			expectNoEnd(t, w)
			asked := get(t, w.DeepCopy()).Generation
			towline.stop()
			longAgo(t, w)
			start(t)
			NewWithT(t).Eventually(func() int64 { return get(t, w.DeepCopy()).Generation }, soon, tick).
				Should(Equal(asked+1), "the agent is not asked again")
			expectNoEnd(t, w)
			agentSays(t, w, agentOf(t, w).Unmapped())
			expectEnd(t, w)
		})
	}
}

// owner returns the agent's report of the owner of an Application that a work has applied.
func owner(w *workv1.ManifestWork) string { return strings.Repeat("0", 64) + "-" + w.Name }

// refusedFields is the agent's message about a conflict.
const refusedFields = `Apply failed with 1 conflict: conflict with "kubectl-edit" using argoproj.io/v1alpha1: .spec.project`

// older creates a work as older controllers do: without force, and with an agent at work.
func older(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	w.Finalizers = []string{agentFinalizer}
	w.Spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply}
	create(t, w)
	agentSays(t, w, agentOf(t, w))
	return w
}

// TestAConflictOnADeliveredApplication: a work without force delivered the Application, and conflicts with a later
// change by another manager. The work still owns the Application, so the Application would be deleted with the work.
// Towline asks for the owner before the deletion.
func TestAConflictOnADeliveredApplication(t *testing.T) {
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w := older(t, app)
			agentSays(t, w, agentOf(t, w).Refused(refusedFields, metav1.ConditionTrue))
			start(t)
			expectWork(t, app)
			agentSays(t, w, agentOf(t, w).Refused(refusedFields, metav1.ConditionTrue))
			expectProblem(t, app, apis.ReasonAdoptionRefused, "kubectl-edit")
			end(t, app)
			expectAsking(t, w)
			expectNoEnd(t, w)
			if work.UpdateModeOf(get(t, w.DeepCopy())) != work.Apply {
				t.Fatal("what may be somebody else's is overwritten")
			}
			agentSays(t, w, agentOf(t, w).Refused(refusedFields, metav1.ConditionTrue).String("workOwner", owner(w)))
			NewWithT(t).Eventually(func() work.UpdateMode { return work.UpdateModeOf(get(t, w.DeepCopy())) }, soon, tick).
				Should(Equal(work.ForceApply), "what is the hub's own is not prepared for its end")
			expectNoEnd(t, w)
			applied(t, get(t, w))
			expectEnd(t, w)
		})
	}
}

// TestAConflictOnAForeignApplication: an Application that the work never delivered stays unchanged, and the work ends.
func TestAConflictOnAForeignApplication(t *testing.T) {
	start(t)
	for title, adopt := range map[string]string{"that asks": apis.AdoptMatching, "that looks": apis.AdoptNever} {
		for how, end := range ends {
			t.Run(title+", "+how, func(t *testing.T) {
				app := application(t, cluster(t)).Annotation(apis.AnnotationAdopt, adopt).Finalizers(apis.FinalizerResources).Obj()
				create(t, app)
				w := expectWork(t, app)
				seen(t, w)
				refuses := func() *fixture.FeedbackBuilder {
					if adopt == apis.AdoptNever {
						return agentOf(t, w)
					}
					return agentOf(t, w).Refused(refusedFields, metav1.ConditionTrue)
				}
				agentSays(t, w, refuses())
				NewWithT(t).Eventually(func() bool { return work.AsksOrigin(get(t, w.DeepCopy())) }, soon, tick).Should(BeTrue())
				agentSays(t, w, refuses())
				expectProblem(t, app, apis.ReasonAdoptionRefused, "")
				end(t, app)
				expectAsking(t, w)
				agentSays(t, w, refuses().String("workOwner", strings.Repeat("0", 64)+"-another"))
				expectNoEnd(t, w) // other works own the Application, and perhaps this work too
				agentSays(t, w, refuses())
				expectEnd(t, w)
				if now := get(t, w); now != nil && work.UpdateModeOf(now) == work.ForceApply {
					t.Error("somebody else's Application was changed")
				}
			})
		}
	}
}

// TestAReadOnlySuccessorOfADelivery: a read-only work may be the successor of the work that delivered the Application,
// as after a second import of the cluster.
func TestAReadOnlySuccessorOfADelivery(t *testing.T) {
	start(t)
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			app := application(t, cluster(t)).Annotation(apis.AnnotationAdopt, apis.AdoptNever).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			w := expectWork(t, app)
			seen(t, w)
			agentSays(t, w, agentOf(t, w).String("workOwner", owner(w)))
			expectProblem(t, app, apis.ReasonAdoptionRefused, "")
			end(t, app)
			expectAsking(t, w)
			expectNoEnd(t, w)
			agentSays(t, w, agentOf(t, w).String("workOwner", owner(w)))
			NewWithT(t).Eventually(func() work.UpdateMode { return work.UpdateModeOf(get(t, w.DeepCopy())) }, soon, tick).Should(Equal(work.ForceApply))
			applied(t, get(t, w))
			expectEnd(t, w)
		})
	}
}

// TestACascadeDuringARequest: a finalizer set during a pending request has not reached the cluster.
func TestACascadeDuringARequest(t *testing.T) {
	start(t)
	for title, tc := range map[string]struct {
		order string
		end   func(*testing.T, *argocd.Application)
	}{
		"deleted": {"", func(t *testing.T, app *argocd.Application) {
			t.Helper()
			edit(t, app, func(a *argocd.Application) { a.Finalizers = []string{apis.FinalizerResources} })
			remove(t, app)
		}},
		"moved": {apis.MoveOldFirst, func(t *testing.T, app *argocd.Application) {
			t.Helper()
			to := cluster(t).Name
			edit(t, app, func(a *argocd.Application) {
				a.Finalizers, a.Annotations[apis.AnnotationCluster] = []string{apis.FinalizerResources}, to
			})
		}},
	} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Annotation(apis.AnnotationMoveOrder, tc.order).Obj()
			create(t, app)
			seen(t, expectWork(t, app))
			report(t, app, feedbackOf(app).Healthy("a"))
			request(t, app, `{"sync":{}}`)
			sentOperation(t, app, "")
			w := workOf(t, app)
			tc.end(t, app)
			NewWithT(t).Eventually(func() string {
				now := get(t, w.DeepCopy())
				if now == nil || !now.DeletionTimestamp.IsZero() {
					return "deleted"
				}
				held, _ := work.Carried(now)
				if held == nil {
					return ""
				}
				return strings.Join(held.Finalizers, ",")
			}, soon, tick).Should(Equal(apis.FinalizerResources), "what it deployed stays on the cluster")
			expectKept(t, w)
			applied(t, get(t, w))
			expectDeleting(t, w)
			if get(t, app.DeepCopy()) == nil {
				t.Error("the hub says gone while the cluster has it")
			}
		})
	}
}

// TestACascadeThatTheClusterRefuses: without the refused finalizer, the Application on the cluster would be deleted
// without its workload, and the hub would report a complete deletion.
func TestACascadeThatTheClusterRefuses(t *testing.T) {
	start(t)
	for title, goesOn := range map[string]func(*testing.T, *argocd.Application, *workv1.ManifestWork){
		"applied after all": func(t *testing.T, _ *argocd.Application, w *workv1.ManifestWork) {
			t.Helper()
			applied(t, get(t, w))
		},
		"not there any more": func(t *testing.T, _ *argocd.Application, w *workv1.ManifestWork) {
			t.Helper()
			agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionFalse))
		},
		"others set the finalizer": func(t *testing.T, _ *argocd.Application, w *workv1.ManifestWork) {
			t.Helper()
			agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionTrue).String("finalizerLeft-foreground", "x").String("workOwner", owner(w)))
		},
		"forced": func(t *testing.T, app *argocd.Application, _ *workv1.ManifestWork) {
			t.Helper()
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
		},
	} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Obj()
			create(t, app)
			w := atWork(t, app)
			edit(t, app, func(a *argocd.Application) { a.Finalizers = []string{apis.FinalizerResources} })
			remove(t, app)
			NewWithT(t).Eventually(func() string { return string(get(t, w).Spec.Workload.Manifests[0].Raw) }, soon, tick).
				Should(ContainSubstring(apis.FinalizerResources))
			agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionTrue))
			expectAsking(t, w)
			agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionTrue).String("workOwner", owner(w)))
			expectKept(t, w)
			expectNotice(t, app, apis.ConditionDeletionWarning, "cluster "+w.Namespace+" refuses the change: Failed to apply manifest: no rights")
			expectNotice(t, app, apis.ConditionDeletionWarning, apis.AnnotationForceDelete)
			goesOn(t, app, w)
			expectDeleting(t, w)
		})
	}
}

// TestACascadeThatTheClusterHasAlready: if the cluster has the finalizer already, other refused fields do not delay the
// deletion.
func TestACascadeThatTheClusterHasAlready(t *testing.T) {
	start(t)
	app := deployed(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	w := expectWork(t, app)
	agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionTrue))
	remove(t, app)
	expectAsking(t, w)
	agentSays(t, w, agentOf(t, w).Refused("no rights", metav1.ConditionTrue).String("finalizerLeft", apis.FinalizerResources))
	expectDeleting(t, w)
}

// changedBeforeItsEnd restores an Application's finalizer in its work at the moment of Towline's delete request. The
// returned function tells the generation of the work after the change, or 0 before the change.
func changedBeforeItsEnd(t *testing.T, towline *running, app *argocd.Application, w *workv1.ManifestWork) func() int64 {
	t.Helper()
	there := w.DeepCopy()
	var generation atomic.Int64
	back := sync.OnceValue(func() error {
		full, err := work.Render(app, work.Requests{})
		if err != nil {
			return err
		}
		now := &workv1.ManifestWork{}
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // other writers may cause a conflict
			if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(there), now); err != nil {
				return err
			}
			now.Spec = full.Spec
			return k8s.Update(t.Context(), now)
		})
		generation.Store(now.Generation)
		return err
	})
	towline.writes.race(func(method, path string) {
		if method == http.MethodDelete && strings.HasSuffix(path, "/"+there.Name) {
			if err := back(); err != nil {
				t.Error(err)
			}
		}
	})
	return generation.Load
}

// TestAnEndByAWorkThatHasChanged: the cache may lag behind the hub, and the work may have its finalizers again.
func TestAnEndByAWorkThatHasChanged(t *testing.T) {
	towline := start(t)
	app := deployed(t)
	before := app.DeepCopy()
	w := workOf(t, app)
	dropped(t, app)
	expectAsking(t, w)
	changed := changedBeforeItsEnd(t, towline, before, w)
	applied(t, get(t, w))
	NewWithT(t).Eventually(func() bool { return changed() != 0 && get(t, w.DeepCopy()).Generation > changed() }, soon, tick).
		Should(BeTrue(), "the finalizers are not taken off again")
	expectNoEnd(t, w)
	if held, ok := work.Carried(get(t, w.DeepCopy())); !ok || len(held.Finalizers) > 0 {
		t.Fatal("the cluster's Application keeps its finalizers")
	}
	applied(t, get(t, w))
	expectDeleting(t, w)
}
