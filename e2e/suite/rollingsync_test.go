package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// refused is a manifest that every API server refuses.
const refused = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n"

// applicationSet reads an ApplicationSet of the hub.
func applicationSet(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationSet"))
	return set, hub.Get(ctx, types.NamespacedName{Namespace: argocdNamespace, Name: name}, set)
}

// expectRollOutOver waits until no part of a roll-out of a set is running. If a sync ends before the controller sees the sync run,
// the controller may request a second sync. The second sync would deploy the next commit.
func expectRollOutOver(ctx context.Context, set string, apps []string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		rolled, err := applicationSet(ctx, set)
		g.Expect(err).NotTo(HaveOccurred())
		steps, _, err := unstructured.NestedSlice(rolled.Object, "status", "applicationStatus")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(steps).To(And(HaveLen(len(apps)), HaveEach(HaveKeyWithValue("status", "Healthy"))))
		for _, name := range apps {
			g.Expect(read(hub, named(name))(ctx)).To(And(
				HaveField("Operation", BeNil()), HaveField("Status.OperationState.Phase", "Succeeded")))
		}
	}).Should(Succeed())
}

var _ = Describe("A RollingSync", Ordered, func() {
	const set = "rollout"
	apps := []string{"rollout-cluster1", "rollout-cluster2", "rollout-cluster3"}

	BeforeAll(func(ctx SpecContext) {
		Expect(f.Git.Create(ctx, set, testdataFS("configmap.yaml"))).To(Succeed())
		apply(ctx, rollout(set, false))
		withoutApplicationSet(set, apps...)
	})

	AfterEach(func(ctx SpecContext) {
		if !CurrentSpecReport().Failed() {
			return
		}
		if rolled, err := applicationSet(ctx, set); err == nil {
			AddReportEntry(fmt.Sprintf("the set's status: %v", rolled.Object["status"]))
		}
		for _, name := range apps {
			if app, err := read(hub, named(name))(ctx); err == nil && app != nil {
				AddReportEntry(fmt.Sprintf("%s: refresh %q, operation %v, sync %+v, reconciled %s, operationState %+v", name, app.Refresh(),
					app.Operation, app.Status.Sync, app.Status.ReconciledAt, app.Status.OperationState))
			}
		}
	})

	// commit changes files of the repository, and makes the known clusters compare. The ApplicationSet controller takes
	// a cluster for done if the hub does not know that the cluster is behind, and then starts the next step.
	commit := func(ctx context.Context, files map[string]string, known ...string) string {
		GinkgoHelper()
		sha, err := f.Git.Commit(ctx, set, files, "Roll out")
		Expect(err).NotTo(HaveOccurred())
		for _, name := range known {
			hardRefresh(ctx, strings.TrimPrefix(name, set+"-"), name)
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync.Revision", sha))
		}
		return sha
	}
	version := func(ctx context.Context, v string) map[string]string {
		GinkgoHelper()
		manifest, err := f.Git.Read(ctx, set, "configmap.yaml")
		Expect(err).NotTo(HaveOccurred())
		head, _, _ := strings.Cut(manifest, "version: ")
		return map[string]string{"configmap.yaml": head + "version: " + v + "\n"}
	}
	over := func(ctx context.Context) {
		GinkgoHelper()
		expectRollOutOver(ctx, set, apps)
	}
	// deployed returns the first deployment of a revision in the cluster's own history. The controller may request a
	// second sync during the first. The same revision is then deployed again, next to the deployments of the next step.
	deployed := func(ctx context.Context, name, revision string) argocd.Deployment {
		GinkgoHelper()
		app, err := read(cluster[strings.TrimPrefix(name, set+"-")], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(app.Status.History, func(d argocd.Deployment) bool { return d.Revision == revision })
		Expect(i).NotTo(Equal(-1), "%s has never deployed %s", name, revision)
		return app.Status.History[i]
	}
	// inOrder expects all clusters to run the revision, and the clusters of the second step to start after the first
	// step. It cannot check how many clusters of a step run at a time. While a sync runs and the Application is
	// OutOfSync, the controller (2.14) puts the Application back to Waiting. It may then start a second Application
	// despite maxUpdate 1.
	inOrder := func(ctx context.Context, revision string) {
		GinkgoHelper()
		done := make([]argocd.Deployment, len(apps))
		for i, name := range apps {
			Eventually(ctx, read(hub, named(name))).Should(And(
				HaveField("Status.OperationState", HaveField("SyncResult", HaveField("Revision", revision))),
				HaveField("Status.OperationState.Phase", "Succeeded"),
				HaveField("Status.Health.Status", "Healthy")))
			done[i] = deployed(ctx, name, revision)
			AddReportEntry(fmt.Sprintf("%s: %s to %s, %s", name, done[i].DeployStartedAt, done[i].DeployedAt, revision[:7]))
		}
		for i := range done[1:] {
			Expect(done[1+i].DeployStartedAt >= done[0].DeployedAt).To(BeTrue(), "%+v began before %+v was done", done[1+i], done[0])
		}
		over(ctx)
	}
	untouched := func(ctx context.Context, revision string, names ...string) {
		GinkgoHelper()
		Consistently(ctx, func(g Gomega, ctx context.Context) {
			for _, name := range names {
				g.Expect(read(hub, named(name))(ctx)).To(HaveField("Status.OperationState.SyncResult.Revision", Not(Equal(revision))))
			}
		}).WithTimeout(4 * time.Second).Should(Succeed())
	}

	It("takes the clusters step by step", func(ctx SpecContext) {
		head, err := f.Git.Head(ctx, set)
		Expect(err).NotTo(HaveOccurred())
		inOrder(ctx, head)
	})

	It("has its Applications counted in its status, with what the clusters report (Argo CD 3)", func(ctx SpecContext) {
		needArgoCD3("the number of Applications in the status of a RollingSync")
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			rolled, err := applicationSet(ctx, set)
			g.Expect(err).NotTo(HaveOccurred())
			count, _, err := unstructured.NestedInt64(rolled.Object, "status", "resourcesCount")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(count).To(BeEquivalentTo(len(apps)))
			resources, _, err := unstructured.NestedSlice(rolled.Object, "status", "resources")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(resources).To(And(HaveLen(len(apps)), HaveEach(And(
				HaveKeyWithValue("status", "Synced"), HaveKeyWithValue("health", HaveKeyWithValue("status", "Healthy"))))))
		}).Should(Succeed())
	})

	// All three Applications are Synced and Healthy, and Git has no new commit. If the controller believed a status
	// from before the change, the Application would never be synced, and the next step would begin (argo-cd#29410). The
	// controller of 2.14 also begins the next step if the sync status is Unknown.
	It("takes a change of the template through in the same order, though no revision changes", nightly, func(ctx SpecContext) {
		head, err := f.Git.Commit(ctx, set, map[string]string{"other/configmap.yaml": version(ctx, "elsewhere")["configmap.yaml"]},
			"Have another folder")
		Expect(err).NotTo(HaveOccurred())
		for _, name := range apps {
			hardRefresh(ctx, strings.TrimPrefix(name, set+"-"), name)
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync.Revision", head))
		}
		over(ctx)
		Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed()) })
		apply(ctx, strings.Replace(rollout(set, false), "path: .", "path: other", 1))
		for _, name := range apps {
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync.Status", "OutOfSync"))
		}
		Consistently(ctx, func(g Gomega, ctx context.Context) {
			for _, name := range apps[1:] {
				g.Expect(read(hub, named(name))(ctx)).To(HaveField("Operation", BeNil()), "%s began before the canary was heard of", name)
			}
		}).WithTimeout(4 * time.Second).Should(Succeed())
		Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
		inOrder(ctx, head)
		back := time.Now().UTC().Format(time.RFC3339)
		apply(ctx, rollout(set, false))
		for _, name := range apps { // right after a change, the controller still shows the previous state
			Eventually(ctx, read(hub, named(name))).Should(And(
				HaveField("Status.OperationState.StartedAt", Satisfy(func(at string) bool { return at >= back })),
				HaveField("Status.Sync.Status", "Synced")))
		}
		over(ctx)
	})

	It("takes a commit through in the same order, also with an automated sync policy", func(ctx SpecContext) {
		apply(ctx, rollout(set, true))
		inOrder(ctx, commit(ctx, version(ctx, "two"), apps...))
	})

	It("stops at a step that fails", func(ctx SpecContext) {
		bad := commit(ctx, map[string]string{"refused.yaml": refused}, apps...)
		Eventually(ctx, read(hub, named(apps[0]))).Should(And(
			HaveField("Status.OperationState.SyncResult.Revision", bad), HaveField("Status.OperationState.Phase", "Failed")))
		untouched(ctx, bad, apps[1:]...)
		// Both changes are in a single commit. The controller requests syncs of the canary again and again. With two
		// commits, the canary may be done with the first commit, and the next step may begin with the second.
		mended := version(ctx, "three")
		mended["refused.yaml"] = "# Nothing is refused any more.\n"
		sha := commit(ctx, mended, apps...)
		// Argo CD 3 does not reconcile the set for a new revision alone: the canary was OutOfSync before and after.
		_, err := f.Hub.Kubectl(ctx, "annotate", "applicationset", "--namespace", argocdNamespace, set, "argocd.argoproj.io/application-set-refresh=true")
		Expect(err).NotTo(HaveOccurred())
		inOrder(ctx, sha)
	})

	It("waits for a cluster that is not healthy or not heard of, also over restarts of the hub, Argo CD and Towline", nightly, func(ctx SpecContext) {
		Expect(f.Cluster("cluster1").StopProcess(ctx, "kwok")).To(Succeed()) // no Pod becomes ready on cluster1
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster1").StartProcess(ctx, "kwok")).To(Succeed()) })
		deployment, err := f.Git.Read(ctx, fleet.AppsRepo, "guestbook/deployment.yaml")
		Expect(err).NotTo(HaveOccurred())
		sha := commit(ctx, map[string]string{"deployment.yaml": deployment}, apps...)
		Eventually(ctx, read(hub, named(apps[0]))).Should(And(
			HaveField("Status.OperationState.SyncResult.Revision", sha), HaveField("Status.Health.Status", "Progressing")))

		away := []string{"cluster2", "cluster3"} // the order of both is not fixed
		agents := func(ctx context.Context, do func(*fleet.Cluster, context.Context) error) {
			GinkgoHelper()
			for _, name := range away {
				Expect(do(f.Cluster(name), ctx)).To(Succeed())
			}
		}
		agents(ctx, (*fleet.Cluster).StopAgent)
		DeferCleanup(func(ctx SpecContext) { agents(ctx, (*fleet.Cluster).StartAgent) })
		tow.Stop()
		outage(ctx, func(string) {})
		Expect(tow.Restart(ctx)).To(Succeed())
		untouched(ctx, sha, apps[1:]...)

		Expect(f.Cluster("cluster1").StartProcess(ctx, "kwok")).To(Succeed())
		asked := func(ctx context.Context) (n int, err error) {
			for _, name := range apps[1:] {
				app, err := read(hub, named(name))(ctx)
				if err != nil {
					return 0, err
				}
				if app.Operation != nil {
					n++
				}
			}
			return n, nil
		}
		Eventually(ctx, asked).Should(Equal(1))
		untouched(ctx, sha, apps[1:]...)
		Expect(asked(ctx)).To(Equal(1), "more than one at a time")
		agents(ctx, (*fleet.Cluster).StartAgent)
		inOrder(ctx, sha)
	})

	if fleet.EndOr("") != fleet.Newest {
		return
	}
	// The controller of 3.6 requests a comparison of each Application, and requests a dropped comparison again at once.
	It("waits for a paused cluster, whose Application is written rarely", func(ctx SpecContext) {
		pause := func(ctx context.Context, value string) {
			GinkgoHelper()
			_, err := f.Hub.Kubectl(ctx, "patch", "namespace", "cluster3", "--type", "merge", "-p", annotationPatch(apis.AnnotationPaused, value))
			Expect(err).NotTo(HaveOccurred())
		}
		over(ctx)
		quiet := time.Now().Add(2 * time.Second) // the times of Argo CD have no fractions of seconds
		pause(ctx, "true")
		DeferCleanup(pause, "")
		Eventually(ctx, time.Now).Should(BeTemporally(">", quiet))
		sha := commit(ctx, version(ctx, "four"), apps...)
		expectCondition(ctx, apps[2], apis.ConditionRefreshWarning, apis.AnnotationPaused)
		versions := map[string]bool{}
		Consistently(ctx, func(g Gomega, ctx context.Context) {
			app, err := read(hub, named(apps[2]))(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			versions[app.ResourceVersion] = true
			g.Expect(len(versions)).To(BeNumerically("<", 10))
		}).WithTimeout(4 * time.Second).Should(Succeed())
		AddReportEntry(fmt.Sprintf("%d versions of the paused Application in 4 s", len(versions)))
		untouched(ctx, sha, apps...)
		pause(ctx, "")
		inOrder(ctx, sha)
	})
})

// rollout returns an ApplicationSet that syncs cluster1 first, and then cluster2 and cluster3 in succession.
func rollout(set string, automated bool) string {
	GinkgoHelper()
	step := func(env string) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": "env", "operator": "In", "values": []any{env}}}}
	}
	prod := step("prod")
	prod["maxUpdate"] = 1
	policy := map[string]any{"syncOptions": []any{"CreateNamespace=true"}, "retry": map[string]any{"limit": 0}}
	if automated {
		policy["automated"] = map[string]any{"prune": true}
	}
	object := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": metav1.ObjectMeta{Name: set, Namespace: argocdNamespace},
		"spec": map[string]any{
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{
				map[string]any{"name": "cluster1", "env": "canary"}, map[string]any{"name": "cluster2", "env": "prod"},
				map[string]any{"name": "cluster3", "env": "prod"},
			}}}},
			"strategy": map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": []any{step("canary"), prod}}},
			"template": map[string]any{
				"metadata": map[string]any{
					"name":        set + "-{{name}}",
					"labels":      map[string]any{apis.LabelPull: "true", "env": "{{env}}"},
					"annotations": map[string]any{apis.AnnotationCluster: "{{name}}", apis.AnnotationSkipReconcile: "true"},
				},
				"spec": map[string]any{
					"project":     "default",
					"source":      map[string]any{"repoURL": f.Git.URL(set), "path": ".", "targetRevision": "main"},
					"destination": map[string]any{"server": apis.InClusterServer, "namespace": set},
					"syncPolicy":  policy,
				},
			},
		},
	}
	manifest, err := yaml.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(manifest)
}
