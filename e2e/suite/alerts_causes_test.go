package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

var _ = Describe("Each alert", Ordered, Serial, long, func() {
	const on = "cluster1"
	e := &episodes{}
	// slow delays Towline's writes of a resource on the hub for longer than the alerts on slowness allow.
	slow := func(ctx context.Context, alert, resource string, change func(context.Context)) {
		GinkgoHelper()
		began := e.begins(ctx, alert)
		over := delayed(ctx, resource)
		e.fires(ctx, alert, began, func(ctx context.Context) error {
			change(ctx)
			return nil
		})
		began = time.Now()
		over(ctx)
		e.clears(ctx, alert, began)
	}

	BeforeAll(func(ctx SpecContext) {
		e.p, _ = startPrometheus(ctx, scraped{Hurried: true})
		Eventually(ctx, e.p.metrics).Should(ContainElement("leader_election_master_status"))
		Eventually(ctx, e.p.firing).Should(BeEmpty())
	})

	AfterAll(func() { AddReportEntry("each alert, with a second for each minute of its expression", e.String()) })

	It("of no Towline and no leader", func(ctx SpecContext) {
		began := e.begins(ctx, "TowlineDown", "TowlineNoLeader")
		Expect(tow.Kill()).To(Succeed())
		started := false
		DeferCleanup(func(ctx SpecContext) {
			if !started {
				Expect(tow.Restart(ctx)).To(Succeed())
			}
		})
		e.fires(ctx, "TowlineDown", began)
		started = true
		began = time.Now()
		Expect(tow.Restart(ctx)).To(Succeed())
		e.fires(ctx, "TowlineNoLeader", began) // the lease of the killed Towline has not expired
		e.clears(ctx, "TowlineDown", began)
		e.clears(ctx, "TowlineNoLeader", began)
	})

	It("of Applications that the hub has lost", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, "alert-orphan", on)
		expectHealthy(ctx, app.Name)
		w := workOf(app)
		began := e.begins(ctx, "TowlineApplicationsOrphaned")
		lose(ctx, app)
		Expect(tow.Restart(ctx)).To(Succeed())
		e.fires(ctx, "TowlineApplicationsOrphaned", began)
		began = time.Now()
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "orphans", "delete", w.Namespace+"/"+w.Name, "--yes", "--wait", "--timeout", soon.String())
		Expect(code).To(BeZero(), out)
		e.clears(ctx, "TowlineApplicationsOrphaned", began)
	})

	It("of slow propagation and slow statuses", func(ctx SpecContext) {
		app := standalone(ctx, "alert-slow", on)
		expectHealthy(ctx, app.Name)
		slow(ctx, "TowlinePropagationSlow", "manifestworks", func(ctx context.Context) {
			patchHub(ctx, app.Name, annotationPatch("note", time.Now().String()))
		})
		slow(ctx, "TowlineStatusSlow", "applications", func(ctx context.Context) { patchHub(ctx, app.Name, `{"operation":{"sync":{}}}`) })
	})

	It("of a report that lags behind, and of one that has no room", func(ctx SpecContext) {
		began := e.begins(ctx, "TowlineReconcileErrors", "TowlineReportLag", "TowlineApplicationsBlocked")
		back := refuseTowline(ctx, apis.Group, "multiclusterapplicationsetreports", "create", "patch", "update")
		goAstray(ctx)
		e.fires(ctx, "TowlineReconcileErrors", began)
		e.fires(ctx, "TowlineReportLag", began)
		e.fires(ctx, "TowlineApplicationsBlocked "+apis.ReasonClusterNotFound, began)
		began = time.Now()
		back(ctx)
		e.clears(ctx, "TowlineReportLag", began)
		e.clears(ctx, "TowlineReconcileErrors", began)

		set := must(f.Hub.Kubectl(ctx, "get", "applicationset", "--namespace", argocdNamespace, "alerts", "--output", "jsonpath={.metadata.uid}"))
		must(f.Hub.Kubectl(ctx, "patch", "applicationset", "--namespace", argocdNamespace, "alerts", "--type=merge",
			`--patch={"spec":{"syncPolicy":{"applicationsSync":"create-only"}}}`)) // unlisted Applications stay
		began = e.begins(ctx, "TowlineReportTruncated")
		for i := range 1500 {
			app := fixture.Application(fmt.Sprintf("alert-full-%04d-%s", i, strings.Repeat("x", 200))).Cluster(strings.Repeat("nowhere", 8)).Obj()
			app.UID = ""
			app.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "alerts", UID: types.UID(set), Controller: ptr.To(true)}}
			Expect(hub.Create(ctx, app)).To(Succeed())
		}
		AddReportEntry(fmt.Sprintf("1,500 Applications made in %.0f s", time.Since(began).Seconds()))
		e.fires(ctx, "TowlineReportTruncated", began)
		began = time.Now()
		must(f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, "alerts"))
		e.clears(ctx, "TowlineReportTruncated", began)
		e.clears(ctx, "TowlineApplicationsBlocked", began)
	}, NodeTimeout(5*soon))

	It("of a status without an Argo CD", inEtcd, func(ctx SpecContext) {
		app := standalone(ctx, "alert-misreported", on)
		expectAtRest(ctx, app.Name)
		began := e.begins(ctx, "TowlineFeedbackRejected")
		Expect(f.Cluster(on).StopAgent(ctx)).To(Succeed()) // a running agent would overwrite the false status
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed()) })
		misreported(ctx, must(read(hub, workOf(app))(ctx)))
		e.fires(ctx, "TowlineFeedbackRejected", began)
		e.clears(ctx, "TowlineFeedbackRejected", began)
	}, NodeTimeout(5*soon))

	It("of a cluster that is away, and of a deletion that waits for it", func(ctx SpecContext) {
		app := standalone(ctx, "alert-deleting", on)
		expectAtRest(ctx, app.Name)
		began := e.begins(ctx, "TowlineClusterStale", "TowlineDeletionStuck")
		Expect(f.Cluster(on).StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed()) })
		Expect(hub.Delete(ctx, app)).To(Succeed())
		e.fires(ctx, "TowlineClusterStale", began)
		e.fires(ctx, "TowlineDeletionStuck", began)
		began = time.Now()
		Expect(f.Cluster(on).StartAgent(ctx)).To(Succeed())
		e.clears(ctx, "TowlineClusterStale", began)
		e.clears(ctx, "TowlineDeletionStuck", began)
	}, NodeTimeout(5*soon))

	It("of a second writer of Towline's works", func(ctx SpecContext) {
		app := standalone(ctx, "alert-fought-over", on)
		expectAtRest(ctx, app.Name)
		began := e.begins(ctx, "TowlineWritesOnQuietHub")
		e.fires(ctx, "TowlineWritesOnQuietHub", began, func(ctx context.Context) error {
			return hub.Patch(ctx, workOf(app), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"manifestConfigs":null}}`)))
		})
		e.clears(ctx, "TowlineWritesOnQuietHub", time.Now())
	})

	It("of a missing dependency of an Application", func(ctx SpecContext) {
		began := e.begins(ctx, "TowlineDependenciesFailing")
		needy := standalone(ctx, "alert-needy", on, func(b *fixture.ApplicationBuilder) {
			b.Annotation(apis.AnnotationWith, "secret/alert-missing")
		})
		e.fires(ctx, "TowlineDependenciesFailing", began)
		began = time.Now()
		patchHub(ctx, needy.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, apis.AnnotationWith))
		e.clears(ctx, "TowlineDependenciesFailing", began)
	})

	It("of a Towline that reaches neither ACM Search nor Redis, and has little memory", func(ctx SpecContext) {
		loadAgent(ctx, argocdNamespace, on) // Redis gets the resources of a cluster
		app := standalone(ctx, "alert-poor", on)
		expectHealthy(ctx, app.Name)
		ports, err := f.FreePorts(1)
		Expect(err).NotTo(HaveOccurred())
		nobody := fmt.Sprintf("127.0.0.1:%d", ports[0])
		redis := settings(map[string]string{"address": nobody})
		search := settings(map[string]string{"url": "https://" + nobody, "token": tokenOf(ctx, "search-reader")})
		poors := []string{"TowlineSearchFailing", "TowlineRedisFailing", "TowlineMemoryHigh"}
		began := e.begins(ctx, poors...)
		poor, err := towline.Start(ctx, f, towline.Options{
			Binary: binary, Name: "towline-poor", Env: []string{"GOMEMLIMIT=30MiB"},
			Args: []string{"--argocd-redis=" + redis, "--resource-source=agent,search", "--search=" + search},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(poor.Stop)
		e.p, _ = startPrometheus(ctx, scraped{Hurried: true, Towlines: []string{tow.Metrics, poor.Metrics}})
		tow.Stop()
		DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(context.WithoutCancel(ctx))).To(Succeed()) })
		for _, alert := range poors {
			e.fires(ctx, alert, began)
		}
		poor.Stop()
		began = time.Now()
		Expect(tow.Restart(ctx)).To(Succeed())
		for _, alert := range poors {
			e.clears(ctx, alert, began)
		}
	})
})
