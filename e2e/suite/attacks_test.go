package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

var _ = Describe("An attack", Ordered, usesRights, func() {
	var tenant, agent, iam, addon client.Client

	BeforeAll(func(ctx SpecContext) {
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/addon/hub_role.yaml")).To(Succeed())
		apply(ctx, tenantManifests())
		_, err := f.Hub.Kubectl(ctx, "label", "managedcluster", "cluster1", "tenant=a")
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, victimManifest())
		expectAtRest(ctx, victim)
		Eventually(ctx, read(hub, raw("apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport", argocdNamespace, victimSet))).
			Should(HaveField("Object", HaveKeyWithValue("statuses", HaveKeyWithValue("summary", HaveKeyWithValue("healthy", "1")))))
		last := ""
		Eventually(ctx, func(ctx context.Context) bool {
			now := snapshot(ctx)
			same := now == last
			last = now
			return same
		}).WithPolling(2 * time.Second).Should(BeTrue())
		tenant = clientWith(f.Hub.UserKubeconfig("tenant"))
		agent = clientWith(f.Cluster("cluster1").AgentKubeconfig(), nil)
		iam = clientWith(f.Hub.UserKubeconfig("cluster1", "open-cluster-management:cluster1")) // the identity of an agent with AWS IAM
		group := "system:open-cluster-management:cluster:cluster1:addon:towline-agent"
		addon = clientWith(f.Hub.UserKubeconfig(group+":agent:hostile", group, "system:open-cluster-management:addon:towline-agent"))
	})
	AfterAll(func(ctx SpecContext) {
		_, err := f.Hub.Kubectl(ctx, "delete", "applicationset", victimSet, "--namespace", argocdNamespace, "--wait=false")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, read(hub, named(victim))).Should(BeNil())
		_, err = f.Hub.Kubectl(ctx, "label", "managedcluster", "cluster1", "tenant-")
		Expect(err).NotTo(HaveOccurred())
		for _, what := range [][]string{
			{"managedclusterset", "tenant-a"}, {"namespace", tenantNamespace}, {"appproject", "tenant-a", "by-address", "--namespace", argocdNamespace},
			{"rolebinding", "attack-agent", "--namespace", "cluster1"}, {"rolebinding", "attack-agent", "--namespace", "cluster2"},
		} {
			_, err := f.Hub.Kubectl(ctx, append([]string{"delete", "--wait=false"}, what...)...)
			Expect(err).NotTo(HaveOccurred())
		}
	})

	Context("of a tenant", func() {
		It("names a foreign cluster", func(ctx SpecContext) {
			harmless(ctx, func() {
				app := tenantApp("foreign", func(b *fixture.ApplicationBuilder) { b.Cluster("cluster2") })
				submit(ctx, tenant, app)
				expectForbidden(ctx, app, "a ManagedClusterSetBinding in namespace tenant-a")
				Expect(read(hub, workOf(app))(ctx)).To(BeNil())
			})
		})

		It("names a foreign cluster after one that it may use", func(ctx SpecContext) {
			harmless(ctx, func() {
				app := tenantApp("second-thought")
				submit(ctx, tenant, app)
				// Towline writes the work a second time when its cluster has answered.
				expectSettled(ctx, func(ctx context.Context) ([]string, error) {
					w, err := read(hub, workOf(app))(ctx)
					if w == nil || err != nil {
						return nil, err
					}
					return []string{fmt.Sprint(w.Generation)}, nil
				})
				first, err := read(hub, workOf(app))(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(tenant.Patch(ctx, app, merge(fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster2"}}}`, apis.AnnotationCluster)))).To(Succeed())
				expectForbidden(ctx, app, `may not deploy to cluster "cluster2"`)
				Expect(read(hub, workOf(app))(ctx)).To(BeNil(), "cluster2 got it")
				Expect(read(hub, first)(ctx)).To(HaveField("Spec", Equal(first.Spec)), "what it may have is gone")
				Expect(tenant.Patch(ctx, app, merge(fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster1"}}}`, apis.AnnotationCluster)))).To(Succeed())
				Eventually(ctx, read(hub, app)).Should(HaveField("Status.Conditions",
					Not(ContainElement(HaveField("Type", apis.ConditionPropagationForbiddenError)))))
			})
		})

		It("escapes into Argo CD's namespace with the project default", func(ctx SpecContext) {
			harmless(ctx, func() {
				app := tenantApp("escape", func(b *fixture.ApplicationBuilder) {
					b.Spec(spec("guestbook", "kube-system")).Annotation(apis.AnnotationAppNamespace, argocdNamespace)
				})
				submit(ctx, tenant, app)
				expectForbidden(ctx, app, `may not have namespace "argocd" on its cluster`)
				Expect(read(hub, workOf(app))(ctx)).To(BeNil())
			})
		})

		It("uses a project that does not list its namespace", func(ctx SpecContext) {
			harmless(ctx, func() {
				app := tenantApp("unlisted", func(b *fixture.ApplicationBuilder) { b.Spec(spec("guestbook", tenantNamespace)) })
				submit(ctx, tenant, app)
				expectForbidden(ctx, app, "AppProject argocd/default does not permit Applications of namespace")
				Expect(read(hub, workOf(app))(ctx)).To(BeNil())
			})
		})

		It("syncs from a repository that its project does not permit", func(ctx SpecContext) {
			harmless(ctx, func() {
				app := tenantApp("operation")
				submit(ctx, tenant, app)
				Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
				Expect(tenant.Patch(ctx, app, merge(`{"operation":{"sync":{"source":{"repoURL":"https://evil.example.com/x","path":"."}}}}`))).To(Succeed())
				expectForbidden(ctx, app, "https://evil.example.com/x")
				w, err := read(hub, workOf(app))(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(string(w.Spec.Workload.Manifests[0].Raw)).NotTo(ContainSubstring("evil"))
			})
		})

		It("syncs manifests of its own", func(ctx SpecContext) {
			harmless(ctx, func() {
				app := tenantApp("local")
				submit(ctx, tenant, app)
				Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
				const manifest = `{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"not-from-git\",\"namespace\":\"tenant-a\"}}`
				Expect(tenant.Patch(ctx, app, merge(`{"operation":{"sync":{"manifests":["`+manifest+`"]}}}`))).To(Succeed())
				expectForbidden(ctx, app, "its own manifests in sync.manifests")
				Expect(read(cluster["cluster1"], raw("v1", "ConfigMap", tenantNamespace, "not-from-git"))(ctx)).To(BeNil())
				w, err := read(hub, workOf(app))(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(string(w.Spec.Workload.Manifests[0].Raw)).NotTo(ContainSubstring("not-from-git"))
			})
		})

		It("writes a report", func(ctx SpecContext) {
			harmless(ctx, func() {
				report := raw("apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport", tenantNamespace, victimSet)
				report.Object["statuses"] = map[string]any{"clusterConditions": []any{map[string]any{
					"cluster": "cluster2", "app": "argocd/" + victim + "/cluster2/x", "healthStatus": "Degraded"}}}
				denied(tenant.Create(ctx, report), "only Towline writes the content of a MulticlusterApplicationSetReport")
				report.SetNamespace(argocdNamespace)
				denied(tenant.Create(ctx, report), "cannot create resource")
				denied(tenant.Patch(ctx, report, merge(`{"statuses":null}`)), "cannot patch resource")
			})
		})

		It("makes its Application a part of a foreign ApplicationSet", func(ctx SpecContext) {
			harmless(ctx, func() {
				set := raw("argoproj.io/v1alpha1", "ApplicationSet", argocdNamespace, victimSet)
				Expect(hub.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
				app := tenantApp("forged-owner", func(b *fixture.ApplicationBuilder) { b.ApplicationSet(victimSet).Owner(set.GetUID()) })
				submit(ctx, tenant, app)
				Eventually(ctx, read(hub, app)).Should(BeNil(), "the garbage collector takes what has an owner that is not in its namespace")
				report := raw("apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport", tenantNamespace, victimSet)
				Expect(read(hub, report)(ctx)).To(BeNil())
			})
		})

		It("labels a foreign namespace", func(ctx SpecContext) {
			harmless(ctx, func() {
				for _, name := range []string{argocdNamespace, "cluster2", tenantNamespace} {
					denied(tenant.Patch(ctx, raw("v1", "Namespace", "", name),
						merge(`{"metadata":{"labels":{"apps.open-cluster-management.io/gitops-argo-namespace":"true"}}}`)), "cannot patch resource")
				}
			})
		})
	})

	Context("of a cluster", Ordered, func() {
		var mine *argocd.Application
		var w *workv1.ManifestWork

		BeforeAll(func(ctx SpecContext) {
			// With AdoptAlways, the work has the same spec from the start. Otherwise the work first only checks for an
			// existing Application, and a repair would also change the work's update mode.
			mine = fixture.Application("mine").Cluster("cluster1").Spec(spec("guestbook", "mine")).
				Annotation(apis.AnnotationAdopt, apis.AdoptAlways).Obj()
			mine.UID = ""
			Expect(hub.Create(ctx, mine)).To(Succeed())
			expectAtRest(ctx, mine.Name)
			w = workOf(mine)
			// The cluster's real agent would correct false values at once.
			Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
		})
		AfterAll(func(ctx SpecContext) {
			Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
			Expect(hub.Delete(ctx, mine)).To(Succeed())
			Eventually(ctx, read(hub, w)).Should(BeNil())
		})

		// rewrites are changes of the agent's own work.
		rewrites := map[string]string{
			"its labels": `{"metadata":{"labels":{"apps.open-cluster-management.io/pull-to-ocm-managed-cluster":null}}}`,
			"its annotations": fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
				apis.AnnotationHubName, victim, apis.AnnotationHubNamespace, argocdNamespace),
			"its payload": `{"spec":{"workload":{"manifests":[{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",` +
				`"metadata":{"name":"` + victim + `","namespace":"argocd"},"spec":{}}]}}}`,
			"its rules": `{"spec":{"manifestConfigs":[]}}`,
			"its owner": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"argocd","uid":"x"}]}}`,
		}

		It("rewrites its work", func(ctx SpecContext) {
			harmless(ctx, func() {
				for what, patch := range rewrites {
					By(what)
					denied(agent.Patch(ctx, w.DeepCopy(), merge(patch)), "a cluster's agent may not change")
					denied(iam.Patch(ctx, w.DeepCopy(), merge(patch)), "a cluster's agent may not change")
				}
				finalizers := merge(`{"metadata":{"finalizers":["cluster.open-cluster-management.io/manifest-work-cleanup"]}}`)
				Expect(agent.Patch(ctx, w.DeepCopy(), finalizers)).To(Succeed())
				Expect(iam.Patch(ctx, w.DeepCopy(), finalizers)).To(Succeed())
			})
		})

		It("rewrites its work where there are no admission policies", func(ctx SpecContext) {
			harmless(ctx, func() {
				withoutPolicies(ctx, agent, w)
				good, err := read(hub, w)(ctx)
				Expect(err).NotTo(HaveOccurred())
				for what, patch := range rewrites {
					if what == "its owner" {
						continue // the owner does not exist, and the garbage collector deletes the cluster's own work
					}
					By(what)
					Expect(agent.Patch(ctx, w.DeepCopy(), merge(patch))).To(Succeed())
					Eventually(ctx, read(hub, w)).Should(And(
						HaveField("Spec", Equal(good.Spec)), HaveField("Labels", Equal(good.Labels)), HaveField("Annotations", Equal(good.Annotations))))
				}
			})
		})

		// claims are changes of the agent's own ManagedCluster. The keys are words of the refusals.
		claims := map[string]func(*clusterv1.ManagedCluster){
			"annotations of Towline": func(c *clusterv1.ManagedCluster) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, apis.AnnotationPaused, "true")
			},
			"the addresses": func(c *clusterv1.ManagedCluster) {
				c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: allowedAddress}}
			},
			"the labels": func(c *clusterv1.ManagedCluster) { metav1.SetMetaDataLabel(&c.ObjectMeta, "tenant", "b") },
		}
		claim := func(ctx context.Context, by client.Client, change func(*clusterv1.ManagedCluster)) error {
			c := &clusterv1.ManagedCluster{}
			if err := by.Get(ctx, client.ObjectKey{Name: "cluster1"}, c); err != nil {
				return err
			}
			change(c)
			return by.Update(ctx, c)
		}

		It("pauses itself, claims an address and enters a set", func(ctx SpecContext) {
			harmless(ctx, func() {
				for what, change := range claims {
					By(what)
					for _, by := range []client.Client{agent, iam} {
						var err error
						Eventually(ctx, func(ctx context.Context) error { // other writers change the ManagedCluster too
							err = claim(ctx, by, change)
							return err
						}).ShouldNot(Satisfy(apierrors.IsConflict))
						denied(err, "a cluster's agent may not change "+what)
					}
				}
			})
		})

		It("pauses itself and claims an address where there are no admission policies", func(ctx SpecContext) {
			DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed()) })
			harmless(ctx, func() {
				withoutPolicies(ctx, agent, w)
				deleted := tenantApp("deleted", func(b *fixture.ApplicationBuilder) { b.Finalizers(apis.FinalizerResources) })
				submit(ctx, tenant, deleted)
				Eventually(ctx, read(hub, workOf(deleted))).ShouldNot(BeNil())
				before := &clusterv1.ManagedCluster{}
				Expect(hub.Get(ctx, client.ObjectKey{Name: "cluster1"}, before)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) {
					Eventually(ctx, func(ctx context.Context) error {
						return claim(ctx, hub, func(c *clusterv1.ManagedCluster) { c.Annotations, c.Spec = before.Annotations, before.Spec })
					}).Should(Succeed())
				})
				for _, what := range []string{"annotations of Towline", "the addresses"} {
					Eventually(ctx, func(ctx context.Context) error { return claim(ctx, agent, claims[what]) }).Should(Succeed())
				}

				settled := tenantApp("settled") // if Towline handles this Application, Towline has seen the earlier pause everywhere
				submit(ctx, tenant, settled)
				Eventually(ctx, read(hub, workOf(settled))).ShouldNot(BeNil())
				Expect(tenant.Delete(ctx, deleted)).To(Succeed())
				// In Maestro, a deleted work stays until an agent has answered.
				Eventually(ctx, read(hub, workOf(deleted))).Should(Or(BeNil(), HaveField("DeletionTimestamp", Not(BeNil()))),
					"the cluster keeps it by a pause of its own")
				app := tenantApp("addressed", func(b *fixture.ApplicationBuilder) { b.Spec(specOf("by-address", "guestbook", tenantNamespace)) })
				submit(ctx, tenant, app)
				expectForbidden(ctx, app, "does not permit namespace")
				Expect(read(hub, workOf(app))(ctx)).To(BeNil())
				Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
				Eventually(ctx, read(hub, deleted)).Should(BeNil(), "the cluster keeps it by a pause of its own")
				Eventually(ctx, read(hub, workOf(deleted))).Should(BeNil(), "the cluster keeps it by a pause of its own")
			})
		})

		It("marks its own work as the work of a second Application", inEtcd, func(ctx SpecContext) {
			harmless(ctx, func() {
				forged := raw("work.open-cluster-management.io/v1", "ManifestWork", "cluster1", "innocent")
				forged.Object["spec"] = map[string]any{"workload": map[string]any{"manifests": []any{}}}
				Expect(hub.Create(ctx, forged)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(hub.Delete(ctx, forged))).To(Succeed()) })
				mark := merge(fmt.Sprintf(`{"metadata":{"labels":{%q:"true"},"annotations":{%q:%q,%q:%q}}}`, apis.LabelPull,
					apis.AnnotationHubName, victim, apis.AnnotationHubNamespace, argocdNamespace))
				denied(agent.Patch(ctx, forged.DeepCopy(), mark), "a cluster's agent may not change labels")
				denied(agent.Create(ctx, raw("work.open-cluster-management.io/v1", "ManifestWork", "cluster1", "new")), "cannot create")
				denied(agent.Patch(ctx, raw("work.open-cluster-management.io/v1", "ManifestWork", "cluster2", "x"), mark), "cannot patch")
				withoutPolicies(ctx, agent, w)
				Expect(agent.Patch(ctx, forged.DeepCopy(), mark)).To(Succeed())
				forgedWork := workOf(mine)
				forgedWork.Name = "innocent"
				Eventually(ctx, func(ctx context.Context) error { // Towline may be about to create the work
					if err := agent.Get(ctx, client.ObjectKeyFromObject(forgedWork), forgedWork); err != nil {
						return err
					}
					forgedWork.Status = lies(hostile("healthStatus", workv1.FieldValue{Type: workv1.String, String: ptr.To("Degraded")}))
					return agent.Status().Update(ctx, forgedWork)
				}).Should(Succeed())
			})
		})

		It("reports nonsense", inEtcd, func(ctx SpecContext) {
			text := func(s string) workv1.FieldValue { return workv1.FieldValue{Type: workv1.String, String: &s} }
			long := strings.Repeat("A", 1<<20)
			harmless(ctx, func() {
				for what, values := range map[string][]workv1.FeedbackValue{
					"a value without a value": {
						hostile("healthStatus", workv1.FieldValue{Type: workv1.String}),
						hostile("syncStatus", workv1.FieldValue{Type: workv1.Integer})},
					"other types": {
						hostile("healthStatus", workv1.FieldValue{Type: workv1.Integer, Integer: ptr.To(int64(7))}),
						hostile("syncStatus", workv1.FieldValue{Type: workv1.Boolean, Boolean: ptr.To(true)})},
					"other enums": {hostile("healthStatus", text("Fabulous")), hostile("operationStatePhase", text("<script>"))},
					"no time": {
						hostile("operationStatePhase", text("Succeeded")),
						hostile("operationStateStartedAt", text("yesterday")),
						hostile("reconciledAt", text("soon"))},
					"1 MiB":              {hostile("operationStateMessage", text(long))},
					"control characters": {hostile("conditionSyncError", text("a\x1b[31m\u202e\u0000b<img src=x onerror=alert(1)>"))},
				} {
					By(what)
					Eventually(ctx, func(ctx context.Context) error {
						now, err := read(hub, w)(ctx)
						if err != nil {
							return err
						}
						now.Status = lies(values...)
						return agent.Status().Update(ctx, now)
					}).Should(Succeed())
				}
				Eventually(ctx, read(hub, mine)).Should(HaveField("Status", Not(BeZero())))
			})
			now, err := read(hub, mine)(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(len(fmt.Sprint(now.Status))).To(BeNumerically("<", 64<<10))
			Expect(fmt.Sprint(now.Status)).NotTo(ContainSubstring("\x1b"))
			Expect(now.Status.Health.Status).NotTo(Equal("Fabulous"))
		})

		It("reports on another tenant's Application", func(ctx SpecContext) {
			harmless(ctx, func() {
				lie := &v1alpha1.ApplicationReport{}
				lie.Namespace = "cluster1"
				lie.Application.Namespace, lie.Application.Name = argocdNamespace, victim
				lie.Application.UID, lie.Application.ResourceVersion = "0", "1"
				lie.ObservedAt = time.Now().UTC().Format(time.RFC3339)
				lie.Status.Health.Status, lie.Status.Health.Message = "Degraded", strings.Repeat("<b>", 100)
				theirs, err := read(hub, named(victim))(ctx)
				Expect(err).NotTo(HaveOccurred())
				for _, name := range []string{workOf(theirs).Name, w.Name, "anything"} {
					lie.Name, lie.ResourceVersion, lie.UID = name, "", ""
					Expect(addon.Create(ctx, lie)).To(Succeed())
					DeferCleanup(func(ctx SpecContext) {
						_, err := f.Hub.Kubectl(ctx, "delete", "applicationreport", name, "--namespace", "cluster1", "--ignore-not-found")
						Expect(err).NotTo(HaveOccurred())
					})
				}
				there := lie.DeepCopy()
				there.Namespace, there.ResourceVersion, there.UID = "cluster2", "", ""
				denied(addon.Create(ctx, there), "is not of cluster cluster2")
				there.Namespace = "cluster3"
				denied(addon.Create(ctx, there), "cannot create")
			})
		})
	})

	Context("of a tenant on those who read", Ordered, func() { hostileTexts(&tenant) })

	Context("by a flood", Ordered, func() { floods(&tenant, &agent, &addon) })

	It("by the agent of a cluster reads the works of a second cluster", func(ctx SpecContext) {
		harmless(ctx, func() {
			list := &workv1.ManifestWorkList{}
			Expect(hub.List(ctx, list, client.InNamespace("cluster2"))).To(Succeed())
			Expect(list.Items).NotTo(BeEmpty(), "there is nothing to read")
			for i := range list.Items {
				denied(addon.Get(ctx, client.ObjectKeyFromObject(&list.Items[i]), &workv1.ManifestWork{}), "cannot get")
			}
			denied(addon.List(ctx, &workv1.ManifestWorkList{}, client.InNamespace("cluster2")), "cannot list")
		})
	})

	It("with Towline's own token changes no Application", func(ctx SpecContext) {
		stolen := clientWith(f.Hub.ServiceAccountKubeconfig(ctx, towline.Namespace, towline.ServiceAccount))
		harmless(ctx, func() {
			for says, patch := range map[string]string{
				"the spec of an Application":    `{"spec":{"project":"other"}}`,
				"of an Application's operation": `{"operation":{"sync":{"source":{"repoURL":"https://attacker.example.com","path":"."}}}}`,
				"labels of an Application":      `{"metadata":{"labels":{"a":"b"}}}`,
				"only removes the refresh":      `{"metadata":{"annotations":{"a":"b"}}}`,
				"takes off Argo CD's":           `{"metadata":{"finalizers":null}}`,
				"owners of an Application":      `{"metadata":{"ownerReferences":null}}`,
				"requests a normal refresh":     fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, apis.AnnotationSkipReconcile),
			} {
				denied(stolen.Patch(ctx, named(victim), merge(patch)), says)
			}
			denied(stolen.Create(ctx, tenantApp("new")), "cannot create")
		})
	})
})
