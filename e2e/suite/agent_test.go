package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argoredis"
)

var _ = Describe("The agent add-on", Ordered, Serial, usesRights, func() {
	agents := map[string]*towline.Agent{}
	apps := map[string]string{"cluster1": "with-agent-1", "cluster2": "with-agent-2"}

	BeforeAll(func(ctx SpecContext) {
		installAddOn(ctx)
		for on, name := range apps {
			agent, err := towline.RunAgent(ctx, f, binary, on, "agent-"+on)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(agent.Stop)
			agents[on] = agent
			create(ctx, name, on)
			DeferCleanup(func(ctx SpecContext) {
				Expect(hub.Delete(ctx, named(name))).To(Succeed())
				Eventually(ctx, read(hub, named(name))).Should(BeNil())
			})
		}
	})

	It("is Available by the add-on manager's condition", func(ctx SpecContext) {
		for on := range apps {
			Eventually(ctx, func(ctx context.Context) (string, error) {
				return f.Hub.Kubectl(ctx, "get", "managedclusteraddons.addon.open-cluster-management.io", towline.AddOn, "--namespace", on,
					"--output", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
			}).Should(Equal("True"))
		}
	})

	It("shows on the hub the whole status of each cluster", func(ctx SpecContext) {
		for on, name := range apps {
			expectHealthy(ctx, name)
			expectSameDetail(ctx, on, name)
		}
	})

	It("shows the status in argocd app get and app history, and in the report", func(ctx SpecContext) {
		argo := login(ctx)
		for on, name := range apps {
			health := `\s+Healthy`
			if f.Cluster(on).ArgoCDVersion() != "2.14" {
				health = "" // Argo CD 3 keeps the health of single resources out of the status
			}
			// The message is "unchanged" if Argo CD has synced twice.
			Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "get", name, "--show-operation") }).Should(And(
				MatchRegexp(`apps\s+Deployment\s+`+name+`\s+guestbook-ui\s+Synced`+health+`\s+deployment.apps/guestbook-ui (created|unchanged)`),
				MatchRegexp(`Service\s+`+name+`\s+guestbook-ui\s+Synced`+health+`\s+service/guestbook-ui (created|unchanged)`)))
			AddReportEntry("argocd app get "+name, argo(ctx, "app", "get", name, "--show-operation"))
			Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "history", name) }).Should(ContainSubstring("main ("))

			reports := func(ctx context.Context) (string, error) {
				return f.Hub.Kubectl(ctx, "get", "applicationreports", "--namespace", on, "--output", "wide")
			}
			Eventually(ctx, reports).Should(MatchRegexp(name + `\S+\s+` + name + `\s+Synced\s+Healthy\s+Succeeded`))
			AddReportEntry(reports(ctx))
		}
	})

	It("lets argocd app resources fail at once while argocd-server's cache has no tree", func(ctx SpecContext) {
		argo := login(ctx)
		began := time.Now()
		out := argo(ctx, "app", "resources", apps["cluster1"])
		AddReportEntry(fmt.Sprintf("argocd app resources, after %.1f s", time.Since(began).Seconds()), out)
		Expect(out).To(ContainSubstring("cache: key is missing"), "docs/agent.md says so")
	})

	It("shows the tree of each cluster if Towline knows argocd-server's cache", func(ctx SpecContext) {
		shower, err := towline.Run(ctx, f, binary, "towline-tree",
			"--controllers=resourcetree", "--leader-elect=false", "--argocd-redis="+settings(map[string]string{"address": f.Hub.RedisAddress()}))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(shower.Stop)
		argo := login(ctx)
		for on, name := range apps {
			Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "resources", name) }).Should(And(
				MatchRegexp(`apps\s+Deployment\s+`+name+`\s+guestbook-ui\s+No`), MatchRegexp(`Service\s+`+name+`\s+guestbook-ui\s+No`)), on)
		}
		name := apps["cluster1"]
		began := time.Now()
		AddReportEntry("argocd app resources "+name, argo(ctx, "app", "resources", name))
		AddReportEntry(fmt.Sprintf("which took %.1f s", time.Since(began).Seconds()))
		for _, version := range argoVersions() {
			showsTree(ctx, loginWith(ctx, "argocd-"+version), version, name)
		}

		By("refusing requests for the hub's own resources")
		hubs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "argocd-rbac-cm"}}
		Expect(hub.Get(ctx, client.ObjectKeyFromObject(hubs), hubs)).To(Succeed())
		forge := func(ctx context.Context) error {
			report := appReportOf(ctx, name)
			if err := hub.Get(ctx, client.ObjectKeyFromObject(report), report); err != nil {
				return err
			}
			forged := report.DeepCopy()
			forged.Status.Resources = append(slices.DeleteFunc(forged.Status.Resources, func(r argocd.ResourceStatus) bool { return r.Name == hubs.Name }),
				argocd.ResourceStatus{Version: "v1", Kind: "ConfigMap", Namespace: hubs.Namespace, Name: hubs.Name})
			return hub.Patch(ctx, forged, client.MergeFrom(report))
		}
		Eventually(ctx, func(ctx context.Context) (string, error) { // the agent writes its report again when the cluster has compared
			if err := forge(ctx); err != nil {
				return "", err
			}
			return argo(ctx, "app", "resources", name), nil
		}).Should(ContainSubstring(hubs.Name))
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for _, version := range []string{"v1", "v1.on-its-cluster", ""} {
				Expect(resourceByServer(ctx, method, name, version, hubs)).To(ContainSubstring("not found as part of application"), method+" "+version)
			}
		}
		Expect(eventsByServer(ctx, name, hubs, "/ConfigMap/"+hubs.Namespace+"/"+hubs.Name)).To(ContainSubstring(`"items":null`))
		Expect(hub.Get(ctx, client.ObjectKeyFromObject(hubs), hubs)).To(Succeed())
	})

	for _, version := range argoVersions() {
		It("serves the argocd CLI of version "+version, func(ctx SpecContext) {
			argo := loginWith(ctx, "argocd-"+version)
			for on := range apps {
				useCLI(ctx, argo, "cli-"+strings.ReplaceAll(version, ".", "-")+"-"+on, on)
			}
		})
	}

	It("finds argocd-server's cache by Argo CD's own objects", func(ctx SpecContext) {
		params := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: argoredis.Params}}
		tells := func(ctx context.Context, value string) {
			patch := fmt.Appendf(nil, `{"data":{"redis.server":%s}}`, value)
			Expect(hub.Patch(ctx, params, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		}
		tells(ctx, strconv.Quote(f.Hub.RedisAddress()))
		DeferCleanup(tells, "null")
		finder, err := towline.Run(ctx, f, binary, "towline-finder", "--controllers=resourcetree", "--leader-elect=false")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(finder.Stop)
		app := standalone(ctx, "found-tree", "cluster1")
		expectHealthy(ctx, app.Name)
		argo := login(ctx)
		Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "resources", app.Name) }).Should(
			MatchRegexp(`apps\s+Deployment\s+` + app.Name + `\s+guestbook-ui\s+No`))
	})

	It("blanks no field during its absence, and catches up afterwards", func(ctx SpecContext) {
		name := apps["cluster1"]
		Expect(agents["cluster1"].Kill()).To(Succeed())
		addConfigMap(ctx, "while-the-agent-is-gone")
		hardRefresh(ctx, "cluster1", name)
		Eventually(ctx, read(cluster["cluster1"], named(name))).Should(HaveField("Status.Resources", HaveLen(3)))
		Consistently(ctx, read(hub, named(name))).WithTimeout(3 * time.Second).Should(HaveField("Status.Resources", Not(BeEmpty())))
		Expect(agents["cluster1"].Restart(ctx)).To(Succeed())
		expectSameDetail(ctx, "cluster1", name)
	})

	It("survives an outage of the hub, and catches up", long, func(ctx SpecContext) {
		name, pid := apps["cluster2"], agents["cluster2"].PID()
		back := outage(ctx, func(string) {
			addConfigMap(ctx, "while-the-hub-is-away")
			hardRefresh(ctx, "cluster2", name)
			Eventually(ctx, read(cluster["cluster2"], named(name))).Should(HaveField("Status.Resources", HaveLen(3)))
			By("staying away for a minute, in which the controller loses its Lease")
			Consistently(agents["cluster2"].Exited()).WithTimeout(time.Minute).ShouldNot(BeClosed(), "the agent has given up")
		})
		select {
		case <-tow.Exited(): // a Deployment would restart the controller
			Expect(tow.Restart(ctx)).To(Succeed())
		default:
		}
		Eventually(ctx, read(hub, appReportOf(ctx, name))).Should(HaveField("Status.Resources", HaveLen(3)))
		AddReportEntry(fmt.Sprintf("the report is there %.1f s after the hub", time.Since(back).Seconds()))
		expectSameDetail(ctx, "cluster2", name)
		Expect(agents["cluster2"].PID()).To(Equal(pid), "the agent was restarted")
	})

	It("brings a change to the hub within a second", func(ctx SpecContext) {
		AddReportEntry("from the change on the cluster to the hub", measure(ctx, "cluster1", apps["cluster1"]))
	})

	It("has only the necessary rights on the hub", func(ctx SpecContext) {
		as := "system:open-cluster-management:cluster:cluster1:addon:towline-agent:agent:towline-agent-agent"
		group := "system:open-cluster-management:cluster:cluster1:addon:towline-agent"
		can := func(verb, resource, namespace string) string {
			out, err := f.Hub.Kubectl(ctx, "auth", "can-i", verb, resource, "--namespace", namespace, "--as", as, "--as-group", group)
			if err != nil {
				return "no"
			}
			return strings.TrimSpace(out)
		}
		Eventually(can).WithArguments("patch", "applicationreports.apps.open-cluster-management.io", "cluster1").Should(Equal("yes"))
		for _, tc := range [][3]string{
			{"patch", "applicationreports.apps.open-cluster-management.io", "cluster2"},
			{"delete", "applicationreports.apps.open-cluster-management.io", "cluster1"},
			{"patch", "manifestworks.work.open-cluster-management.io", "cluster1"},
			{"get", "manifestworks.work.open-cluster-management.io", "cluster1"},
			{"get", "manifestworks.work.open-cluster-management.io", "cluster2"},
			{"get", "applications.argoproj.io", argocdNamespace},
			{"get", "secrets", "cluster1"},
		} {
			Expect(can(tc[0], tc[1], tc[2])).To(Equal("no"), "%v", tc)
		}
	})

	It("leaves no report after the deletion of the app", func(ctx SpecContext) {
		app := standalone(ctx, "with-agent-and-gone", "cluster1")
		expectHealthy(ctx, app.Name)
		report := appReportOf(ctx, app.Name)
		Eventually(ctx, read(hub, report)).ShouldNot(BeNil())
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Eventually(ctx, read(hub, report)).Should(BeNil())
	})

	It("leaves no report that has no work", long, func(ctx SpecContext) {
		report := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "of-no-work"}}
		report.Application = v1alpha1.ReportedApplication{Namespace: argocdNamespace, Name: "of-no-work", ResourceVersion: "1"}
		report.ObservedAt = "2026-01-02T03:04:05Z"
		Expect(hub.Create(ctx, report)).To(Succeed())
		Eventually(ctx, read(hub, report.DeepCopy())).WithTimeout(2 * time.Minute).Should(BeNil())
	})

	It("has 200 Applications in less than 64 MiB", long, func(ctx SpecContext) {
		const namespace, clusterName, count = "agent-load", "cluster-load", 200
		namespaceOn(ctx, cluster["cluster1"], namespace)
		namespaceOn(ctx, hub, clusterName)
		there, err := read(cluster["cluster1"], named(apps["cluster1"]))(ctx)
		Expect(err).NotTo(HaveOccurred())
		for len(there.Status.Resources) < 30 {
			there.Status.Resources = append(there.Status.Resources, there.Status.Resources[0])
		}
		for i := range count {
			load(ctx, fmt.Sprintf("load-%03d", i), namespace, clusterName, there.Status)
		}
		agent := loadAgent(ctx, namespace, clusterName)
		list := &v1alpha1.ApplicationReportList{}
		Eventually(ctx, func(ctx context.Context) (int, error) {
			return len(list.Items), hub.List(ctx, list, client.InNamespace(clusterName))
		}).Should(Equal(count))
		started := agent.MemoryKB()
		for i := range count {
			app := named(fmt.Sprintf("load-%03d", i))
			app.Namespace = namespace
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"health":{"message":"changed"}}}`))
			Expect(cluster["cluster1"].Patch(ctx, app, patch)).To(Succeed())
		}
		Eventually(ctx, func(ctx context.Context) (string, error) {
			r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: clusterName, Name: fmt.Sprintf("load-%03d-00000", count-1)}}
			err := hub.Get(ctx, client.ObjectKeyFromObject(r), r)
			return r.Status.Health.Message, err
		}).Should(Equal("changed"))
		kb := agent.MemoryKB()
		AddReportEntry(fmt.Sprintf("resident memory with %d Applications: %.1f MiB, %.1f MiB after a change of each",
			count, float64(started)/1024, float64(kb)/1024))
		Expect(kb).To(BeNumerically("<", 64*1024))
	})
})
