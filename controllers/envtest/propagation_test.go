package envtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

func TestPropagation(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	expectWork(t, app)
	NewWithT(t).Eventually(func() []string { return eventReasons(t, app) }, soon, tick).
		Should(ConsistOf(apis.ReasonPropagated))
	if got := towline.made(t); len(got) != 1 {
		t.Errorf("one Application took the writes %q", got)
	}

	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(strings.ReplaceAll(string(a.Spec.Raw), "HEAD", "v2")) })
	w := expectWork(t, app)
	if raw := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"targetRevision":"v2"`) {
		t.Errorf("the work does not carry the change: %s", raw)
	}
	if got := towline.made(t); len(got) != 1 || !strings.HasPrefix(got[0], "PATCH ") {
		t.Errorf("one change took the writes %q", got)
	}
}

func TestPropagationLeavesTheHubApplicationAlone(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	before := get(t, app.DeepCopy())
	expectWork(t, app)
	report(t, app, feedbackOf(app).Healthy("abc"))
	expectHealth(t, app, "Healthy")
	after := get(t, app.DeepCopy())
	NewWithT(t).Expect(string(after.Spec.Raw)).To(Equal(string(before.Spec.Raw)))
	NewWithT(t).Expect(after.Labels).To(Equal(before.Labels))
	NewWithT(t).Expect(after.Annotations).To(Equal(before.Annotations))
	NewWithT(t).Expect(after.Finalizers).To(Equal(before.Finalizers))
}

// TestPropagationOfANewerArgoCD sends fields that this build does not know through the encoding of two API servers:
// from the hub Application to the payload of the stored work.
func TestPropagationOfANewerArgoCD(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Spec(`{"project":"default","destination":{"namespace":"x"},`+
		`"source":{"repoURL":"https://git.example.com/a.git"},"sources2":[{"newer":9007199254740993}],"ratio":0.5}`).
		Unknown("newTop", `{"a":[1,{"b":null}]}`).Obj()
	create(t, app)
	w := expectWork(t, app)
	var got struct {
		Spec struct {
			Sources2 json.RawMessage `json:"sources2"`
			Ratio    json.RawMessage `json:"ratio"`
		} `json:"spec"`
		NewTop json.RawMessage `json:"newTop"`
	}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &got); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Expect(string(got.Spec.Sources2)).To(Equal(`[{"newer":9007199254740993}]`))
	g.Expect(string(got.Spec.Ratio)).To(Equal(`0.5`))
	g.Expect(string(got.NewTop)).To(Equal(`{"a":[1,{"b":null}]}`))
}

func TestPropagationRepairsDrift(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).ApplicationSet("set").Obj()
	create(t, app)
	tests := map[string]func(*workv1.ManifestWork){
		"payload": func(w *workv1.ManifestWork) {
			w.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"}}`)
		},
		"feedback rules":  func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].FeedbackRules = nil },
		"hub annotations": func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationHubName] = "another" },
		"pull label gone": func(w *workv1.ManifestWork) { delete(w.Labels, apis.LabelPull) },
		"all marks gone":  func(w *workv1.ManifestWork) { w.Labels, w.Annotations = nil, nil },
	}
	for title, tamper := range tests {
		t.Run(title, func(t *testing.T) {
			w := expectWork(t, app)
			uid := w.UID
			edit(t, w, tamper)
			if got := expectWork(t, app); got.UID != uid {
				t.Error("the work was made anew: that would have destroyed the workload")
			}
		})
	}
	t.Run("deleted", func(t *testing.T) {
		w := expectWork(t, app)
		if err := k8s.Delete(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Eventually(func() bool { got := workOf(t, app); return got != nil && got.UID != w.UID }, soon, tick).Should(BeTrue())
		expectWork(t, app)
	})
}

func TestPropagationAdoptsTheWorkOfAnOlderController(t *testing.T) {
	for title, marks := range map[string]func(*workv1.ManifestWork, *argocd.Application){
		"with annotations": func(w *workv1.ManifestWork, app *argocd.Application) {
			w.Annotations = map[string]string{apis.AnnotationHubNamespace: app.Namespace, apis.AnnotationHubName: app.Name}
		},
		"without a mark": func(*workv1.ManifestWork, *argocd.Application) {},
	} {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t)).Obj()
			create(t, app)
			old := &workv1.ManifestWork{}
			old.Namespace, old.Name = work.Key(app).Namespace, work.Key(app).Name
			marks(old, app)
			old.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
				Raw: []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"guestbook","namespace":"argocd"},"spec":{}}`)}}}
			create(t, old)
			start(t)
			if got := expectWork(t, app); got.UID != old.UID {
				t.Error("the work was made anew: that would have destroyed the workload")
			}
		})
	}
}

func TestPropagationLeavesAWorkOfOthersAlone(t *testing.T) {
	app := application(t, cluster(t)).Obj()
	create(t, app)
	foreign := &workv1.ManifestWork{}
	foreign.Namespace, foreign.Name = work.Key(app).Namespace, work.Key(app).Name
	foreign.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"}}`)}}}
	create(t, foreign)
	start(t)
	expectProblem(t, app, apis.ReasonWorkConflict, "has the name that Towline needs")
	if got := get(t, foreign.DeepCopy()); got.ResourceVersion != foreign.ResourceVersion {
		t.Error("the work of others was written")
	}
	if err := k8s.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	expectWork(t, app)
	expectNoProblem(t, app)
}

// TestPropagationProblems: each problem appears on the Application, and disappears with its cause. If the cause lies
// elsewhere, no change of the Application is necessary.
func TestPropagationProblems(t *testing.T) {
	start(t)
	spare := cluster(t)
	accepted := func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = true }
	tests := map[string]struct {
		cluster func(*clusterv1.ManagedCluster)
		app     func(*fixture.ApplicationBuilder, *clusterv1.ManagedCluster)
		reason  string
		says    string
		cureApp func(*argocd.Application, *clusterv1.ManagedCluster)
		cure    func(*clusterv1.ManagedCluster)
	}{
		"no cluster named": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.NoAnnotation(apis.AnnotationCluster)
			},
			reason: apis.ReasonClusterAnnotationMissing, says: "set the annotation " + apis.AnnotationCluster,
			cureApp: func(a *argocd.Application, c *clusterv1.ManagedCluster) {
				a.Annotations[apis.AnnotationCluster] = c.Name
			},
		},
		"cluster name invalid": {
			app:    func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) { b.Cluster("Cluster_1/../x") },
			reason: apis.ReasonClusterNameInvalid, says: "cannot be the name of a ManagedCluster",
			cureApp: func(a *argocd.Application, c *clusterv1.ManagedCluster) {
				a.Annotations[apis.AnnotationCluster] = c.Name
			},
		},
		"adoption misspelt": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.Annotation(apis.AnnotationAdopt, "Never")
			},
			reason: apis.ReasonAnnotationInvalid, says: apis.AnnotationAdopt + `: "Never" is not one of never, matching, always`,
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				a.Annotations[apis.AnnotationAdopt] = "matching"
			},
		},
		"move order misspelt": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.Annotation(apis.AnnotationMoveOrder, "x")
			},
			reason: apis.ReasonAnnotationInvalid, says: apis.AnnotationMoveOrder + `: "x" is not one of new-first, old-first`,
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				delete(a.Annotations, apis.AnnotationMoveOrder)
			},
		},
		"neither released nor not": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.Annotation(apis.AnnotationRelease, "yes")
			},
			reason: apis.ReasonAnnotationInvalid, says: apis.AnnotationRelease + `: "yes" is not one of true, false`,
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) { a.Annotations[apis.AnnotationRelease] = "F" },
		},
		"namespace invalid": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.Annotation(apis.AnnotationAppNamespace, "a.b")
			},
			reason: apis.ReasonNamespaceInvalid, says: "cannot be a namespace",
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				delete(a.Annotations, apis.AnnotationAppNamespace)
			},
		},
		"skip-reconcile absent": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.NoAnnotation(apis.AnnotationSkipReconcile)
			},
			reason: apis.ReasonSkipReconcileMissing, says: "set the annotation " + apis.AnnotationSkipReconcile,
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				a.Annotations[apis.AnnotationSkipReconcile] = "true"
			},
		},
		"too large": {
			app: func(b *fixture.ApplicationBuilder, _ *clusterv1.ManagedCluster) {
				b.Spec(`{"project":"default","destination":{},"source":{"repoURL":"x","helm":{"values":"` + strings.Repeat("a", work.MaxPayload) + `"}}}`)
			},
			reason: apis.ReasonPayloadTooLarge, says: "a ManifestWork holds 512000",
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				a.Spec.Raw = []byte(`{"project":"default","destination":{},"source":{"repoURL":"x","helm":null}}`)
			},
		},
		"cluster not accepted": {
			cluster: func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false },
			reason:  apis.ReasonClusterNotAccepted, says: "hubAcceptsClient",
			cure: accepted,
		},
		"the hub itself, by mistake": {
			cluster: func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} },
			reason:  apis.ReasonLocalClusterConflict, says: "is the hub itself",
			cure: func(c *clusterv1.ManagedCluster) { c.Labels = nil },
		},
		"cluster being deleted": {
			cluster: func(c *clusterv1.ManagedCluster) {
				c.Finalizers, c.Annotations = []string{"example.com/detach"}, map[string]string{"delete": "true"}
			},
			reason: apis.ReasonClusterDeleting, says: "name another cluster",
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				a.Annotations[apis.AnnotationCluster] = spare.Name
			},
		},
		"the hub itself": {
			cluster: func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} },
			reason:  apis.ReasonLocalClusterConflict, says: "set the annotation " + apis.AnnotationAppNamespace,
			cureApp: func(a *argocd.Application, _ *clusterv1.ManagedCluster) {
				a.Annotations[apis.AnnotationAppNamespace] = "elsewhere"
			},
		},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			c := cluster(t, func(c *clusterv1.ManagedCluster) {
				if tc.cluster != nil {
					tc.cluster(c)
				}
			})
			if c.Annotations["delete"] == "true" {
				if err := k8s.Delete(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			b := application(t, c)
			if tc.app != nil {
				tc.app(b, c)
			}
			app := b.Obj()
			create(t, app)
			expectProblem(t, app, tc.reason, tc.says)
			if app.Cluster() == c.Name && workOf(t, app) != nil {
				t.Error("it was sent all the same")
			}
			if tc.cureApp != nil {
				edit(t, app, func(a *argocd.Application) { tc.cureApp(a, c) })
			} else {
				edit(t, c, tc.cure)
			}
			expectWork(t, app)
			expectNoProblem(t, app)
		})
	}
}

func TestPropagationWaitsForItsCluster(t *testing.T) {
	start(t)
	name := unique("late")
	app := fixture.Application("guestbook").Namespace(namespace(t, unique("apps"))).Cluster(name).Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonClusterNotFound, "import the cluster")

	c := &clusterv1.ManagedCluster{}
	c.Name, c.Spec.HubAcceptsClient = name, true
	create(t, c)
	expectProblem(t, app, apis.ReasonClusterNamespaceMissing, "namespace on the hub is missing")

	namespace(t, name)
	expectWork(t, app)
	expectNoProblem(t, app)
}

// TestAProblemRemovesNoWorkload: a mistake on the hub must not destroy a workload.
func TestAProblemRemovesNoWorkload(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	w := expectWork(t, app)
	applied(t, w)
	for title, typo := range map[string]func(*argocd.Application){
		"skip-reconcile removed": func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSkipReconcile) },
		"cluster emptied":        func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = "" },
		"cluster misspelt":       func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = "no-such-cluster" },
	} {
		t.Run(title, func(t *testing.T) {
			good := get(t, app.DeepCopy())
			edit(t, app, typo)
			NewWithT(t).Eventually(func() bool { _, there := condition(t, app, apis.ConditionPropagationError); return there }, soon, tick).Should(BeTrue())
			if got := get(t, w.DeepCopy()); got == nil || got.UID != w.UID || !got.DeletionTimestamp.IsZero() {
				t.Error("the work went")
			}
			edit(t, app, func(a *argocd.Application) { a.Annotations = good.Annotations })
			expectNoProblem(t, app)
		})
	}
}

func TestTakenOffLabelReleasesTheWorkload(t *testing.T) {
	first := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	w := expectWork(t, app)
	applied(t, w)
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	settled(t)
	first.stop()
	start(t)
	settled(t)
	if got := get(t, w.DeepCopy()); got == nil || !got.DeletionTimestamp.IsZero() || !work.Released(got) {
		t.Error("the work went before the agent could release what it brought")
	}
}

// TestRestartWritesNothing: a restart does not write converged objects.
func TestRestartWritesNothing(t *testing.T) {
	first := start(t)
	c := cluster(t)
	var apps []*argocd.Application
	for range 5 {
		app := application(t, c).Obj()
		create(t, app)
		report(t, app, feedbackOf(app).Healthy("abc"))
		expectHealth(t, app, "Healthy")
		expectSettled(t, app) // Towline writes the work once more when the hub shows the first comparison
		apps = append(apps, app)
	}
	blocked := application(t, c).NoAnnotation(apis.AnnotationSkipReconcile).Obj()
	create(t, blocked)
	expectProblem(t, blocked, apis.ReasonSkipReconcileMissing, "")
	settled(t)
	first.stop()

	second := start(t)
	for _, made := range second.made(t) {
		for _, app := range append(apps, blocked) {
			if strings.Contains(made, "/namespaces/"+app.Namespace+"/") || strings.Contains(made, "/namespaces/"+c.Name+"/") {
				t.Errorf("a restart wrote %s", made)
			}
		}
	}
}

// TestWorkWithTheMarksOfASecondApplication: the hub alone decides the Application of a work. Marks for a second,
// missing Application do not separate the right Application from its work, and do not make the work an orphan.
func TestWorkWithTheMarksOfASecondApplication(t *testing.T) {
	app := application(t, cluster(t)).Obj()
	create(t, app)
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name = work.Key(app).Namespace, work.Key(app).Name
	w.Labels = map[string]string{apis.LabelPull: "true"}
	w.Annotations = map[string]string{apis.AnnotationHubNamespace: "elsewhere", apis.AnnotationHubName: "gone"}
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)}}}
	create(t, w)
	start(t)
	if got := expectWork(t, app); got.UID != w.UID {
		t.Error("the work was made anew")
	}
}

// TestOnlyTheEnabledControllersRun: the disabled controller would have acted by the time of the enabled controller's
// results.
func TestOnlyTheEnabledControllersRun(t *testing.T) {
	both := start(t)
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	both.stop()

	one := start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Status} })
	before := workOf(t, app)
	edit(t, app, func(a *argocd.Application) { a.Finalizers = []string{apis.FinalizerResources} })
	for _, health := range []string{"Degraded", "Progressing", "Degraded"} {
		reportHeld(t, app, feedbackOf(app).Healthy("a").String("healthStatus", health))
		expectHealth(t, app, health)
	}
	expectIdle(t)
	one.stop()
	for _, made := range one.writes.take() {
		if strings.Contains(made, "/manifestworks") {
			t.Errorf("the status controller alone wrote %q", made)
		}
	}
	if after := workOf(t, app); after.UID != before.UID || after.Generation != before.Generation {
		t.Error("propagation ran though it was not enabled")
	}

	start(t, func(o *controllers.Options) { o.Enabled = []string{controllers.Propagation} })
	expectWork(t, app)
	reportHeld(t, app, feedbackOf(app).Healthy("a"))
	sent(t)
	if got := get(t, app).Status.Health.Status; got != "Degraded" {
		t.Errorf("the status controller ran though it was not enabled: the hub shows %s", got)
	}
}
