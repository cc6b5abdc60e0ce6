package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// reportOf returns the key of the report of an ApplicationSet in Argo CD's namespace, to read.
func reportOf(set string) *v1alpha1.MulticlusterApplicationSetReport {
	return &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: set}}
}

// row returns the report's row for a cluster, or nil if the report has no such row.
func row(report *v1alpha1.MulticlusterApplicationSetReport, on string) *v1alpha1.ClusterCondition {
	if report == nil {
		return nil
	}
	rows := report.Statuses.ClusterConditions
	i := slices.IndexFunc(rows, func(r v1alpha1.ClusterCondition) bool { return r.Cluster == on })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// rowOf returns a function that reads the row again.
func rowOf(set, on string) func(context.Context) (*v1alpha1.ClusterCondition, error) {
	return func(ctx context.Context) (*v1alpha1.ClusterCondition, error) {
		report, err := read(hub, reportOf(set))(ctx)
		return row(report, on), err
	}
}

// show adds the output of a kubectl command to the suite's report.
func show(ctx context.Context, title string, args ...string) {
	GinkgoHelper()
	out, err := f.Hub.Kubectl(ctx, append([]string{"--namespace", argocdNamespace}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry(title + "\n$ kubectl " + strings.Join(args, " ") + "\n" + out)
}

// withoutRights reduces Argo CD's rights on a cluster to the rights of the first step of the seed's example: Argo CD
// may read all objects, make namespaces and events, and change its Applications and AppProjects. The returned function
// gives the rights back.
func withoutRights(ctx context.Context, on string) (back func(context.Context)) {
	GinkgoHelper()
	back = withRules(ctx, cluster[on], "argocd-application-controller", func([]rbacv1.PolicyRule) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{
			{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
			{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces", "events"}, Verbs: []string{"create", "update", "patch"}},
			{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "appprojects"}, Verbs: []string{"*"}},
		}
	})
	expectRefused(ctx, cluster[on], "argocd-application-controller", "create", "apps", "deployments")
	return back
}

var _ = Describe("The report of an ApplicationSet", Ordered, usesRights, func() {
	const set = "guestbook-app-set"

	AfterAll(func(ctx SpecContext) {
		// The last spec cuts off cluster1. A deferred clean-up of the spec would run only after AfterAll.
		Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
		withoutGuestbook(ctx)
		Eventually(ctx, read(hub, reportOf(set))).Should(BeNil())
	})

	It("shows Healthy, a SyncError and Progressing side by side, and turns green after the fixes", func(ctx SpecContext) {
		grant := withoutRights(ctx, "cluster2")
		DeferCleanup(grant)
		// Without KWOK no pod ever runs, and the Deployment stays Progressing.
		Expect(f.Cluster("cluster3").StopProcess(ctx, "kwok")).To(Succeed())
		started := false
		DeferCleanup(func(ctx SpecContext) {
			if !started {
				Expect(f.Cluster("cluster3").StartProcess(ctx, "kwok")).To(Succeed())
			}
		})
		// Argo CD retries a failed sync for minutes before the sync is an error. Here Argo CD retries once, and soon.
		// One retry is necessary if an Application was compared before its AppProject arrived. Argo CD (3.5) may then
		// begin the first sync while it still reads the old condition InvalidSpecError, and this sync fails.
		manifest, err := towline.Manifest(f, "example/guestbook-app-set.yaml")
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, strings.Replace(manifest, "        automated:\n",
			"        retry:\n          limit: 1\n          backoff: {duration: 1s}\n        automated:\n", 1))

		Eventually(ctx, rowOf(set, "cluster1")).Should(And(Not(BeNil()),
			HaveField("HealthStatus", "Healthy"), HaveField("SyncStatus", "Synced"), HaveField("Conditions", BeEmpty())))
		Eventually(ctx, rowOf(set, "cluster2")).Should(And(Not(BeNil()),
			HaveField("HealthStatus", "Missing"), HaveField("SyncStatus", "OutOfSync"),
			HaveField("Conditions", ContainElement(And(
				HaveField("Type", "SyncError"),
				HaveField("Message", And(ContainSubstring(`services is forbidden`), ContainSubstring("deployments.apps is forbidden"),
					ContainSubstring("system:serviceaccount:argocd:argocd-application-controller"))))))))
		Eventually(ctx, rowOf(set, "cluster3")).Should(And(Not(BeNil()),
			HaveField("HealthStatus", "Progressing"), HaveField("SyncStatus", "Synced")))
		Eventually(ctx, read(hub, reportOf(set))).Should(HaveField("Statuses.Summary", And(
			HaveField("Clusters", "3"), HaveField("Applications", "3"),
			HaveField("Synced", "2"), HaveField("NotSynced", "1"),
			HaveField("Healthy", "1"), HaveField("NotHealthy", "2"), HaveField("InProgress", "1"))))
		show(ctx, "with an error", "get", "multiclusterapplicationsetreports")
		show(ctx, "with an error", "get", "multiclusterapplicationsetreports", set, "--output", "yaml")
		show(ctx, "with an error", "describe", "multiclusterapplicationsetreports", set)

		grant(ctx)
		expectAllowed(ctx, cluster["cluster2"], "argocd-application-controller", "create", "apps", "deployments")
		Expect(f.Cluster("cluster3").StartProcess(ctx, "kwok")).To(Succeed())
		started = true
		// The cluster's own Argo CD does not retry a failed revision without a request. The user syncs on the cluster.
		_, err = f.Cluster("cluster2").Kubectl(ctx, "--namespace", argocdNamespace, "patch", "applications.argoproj.io",
			"cluster2-guestbook-app", "--type=merge", "--patch", `{"operation":{"sync":{}}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, read(hub, reportOf(set))).Should(HaveField("Statuses.Summary", And(
			HaveField("Synced", "3"), HaveField("NotSynced", "0"),
			HaveField("Healthy", "3"), HaveField("NotHealthy", "0"), HaveField("InProgress", "0"))))
		Eventually(ctx, rowOf(set, "cluster2")).Should(HaveField("Conditions", BeEmpty()))
		_, err = f.Hub.Kubectl(ctx, "--namespace", argocdNamespace, "wait", "--for=condition=Ready",
			"multiclusterapplicationsetreports/"+set, "--timeout=60s")
		Expect(err).NotTo(HaveOccurred())
		show(ctx, "mended", "get", "multiclusterapplicationsetreports")
	})

	It("marks the rows of a cluster that is cut off, and takes the mark back", func(ctx SpecContext) {
		Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed()) })
		Eventually(ctx, rowOf(set, "cluster1")).Should(And(
			HaveField("Conditions", ContainElement(HaveField("Type", "ClusterUnreachable"))),
			HaveField("HealthStatus", "Healthy")))
		Eventually(ctx, read(hub, reportOf(set))).Should(HaveField("Statuses.Summary.Unreachable", "1"))
		show(ctx, "cut off", "get", "multiclusterapplicationsetreports", set, "--output", "yaml")
		expectCondition(ctx, "cluster1-guestbook-app", apis.ConditionClusterUnreachableWarning, "has not been available since")
		Expect(f.Cluster("cluster1").StartAgent(ctx)).To(Succeed())
		Eventually(ctx, rowOf(set, "cluster1")).Should(HaveField("Conditions", BeEmpty()))
		expectNoCondition(ctx, "cluster1-guestbook-app", apis.ConditionClusterUnreachableWarning)
	})

	It("goes with its ApplicationSet, and does not come back while a cluster that is cut off keeps an Application", long, func(ctx SpecContext) {
		Expect(f.Cluster("cluster1").StopAgent(ctx)).To(Succeed())
		seen := changesOfReport(ctx, set)
		_, err := f.Hub.Kubectl(ctx, "delete", "--namespace", argocdNamespace, "applicationset", set, "--wait=false")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, read(hub, reportOf(set))).Should(BeNil())
		for _, on := range []string{"cluster2", "cluster3"} {
			Eventually(ctx, read(hub, named(on+"-guestbook-app"))).Should(BeNil())
		}
		Consistently(ctx, read(hub, reportOf(set))).WithTimeout(quiet).Should(BeNil())
		Expect(read(hub, named("cluster1-guestbook-app"))(ctx)).NotTo(BeNil(), "nothing has waited for the cluster")
		made, deleted := seen()
		AddReportEntry(fmt.Sprintf("while the cluster was cut off: %d reports made, %d deleted", made, deleted))
		Expect(made).To(BeZero())
		Expect(deleted).To(Equal(int64(1)))
	})
})

// changesOfReport counts from now on how often the report of an ApplicationSet is created and deleted.
func changesOfReport(ctx context.Context, set string) func() (made, deleted int64) {
	GinkgoHelper()
	c, err := client.NewWithWatch(f.Hub.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	list := &v1alpha1.MulticlusterApplicationSetReportList{}
	Expect(c.List(ctx, list, client.InNamespace(argocdNamespace))).To(Succeed())
	w, err := c.Watch(ctx, list, client.InNamespace(argocdNamespace), client.MatchingFields{"metadata.name": set},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	var made, deleted atomic.Int64
	go func() {
		for e := range w.ResultChan() {
			switch e.Type {
			case watch.Added:
				made.Add(1)
			case watch.Deleted:
				deleted.Add(1)
			}
		}
	}()
	return func() (int64, int64) { return made.Load(), deleted.Load() }
}

var _ = Describe("A health that changes on the cluster", Ordered, Serial, func() {
	const (
		set  = "machines"
		name = "cluster1-vm"
	)
	samples := 30
	if oldest() {
		samples = 2 // the agents of OCM 1.0 poll, every 10 to 20 s
	}

	// machine writes the VirtualMachine's status as KubeVirt would.
	machine := func(ctx context.Context, status string) {
		GinkgoHelper()
		_, err := f.Cluster("cluster1").Kubectl(ctx, "--namespace", set, "patch", "virtualmachines.kubevirt.io", "vm",
			"--subresource=status", "--type=merge", "--patch", `{"status":`+status+`}`)
		Expect(err).NotTo(HaveOccurred())
	}
	const (
		stopped  = `{"printableStatus":"Stopped","created":false,"conditions":[{"type":"Ready","status":"False"}]}`
		starting = `{"printableStatus":"Starting","created":true,"conditions":[{"type":"Ready","status":"False"}]}`
		running  = `{"printableStatus":"Running","created":true,"conditions":[{"type":"Ready","status":"True"}]}`
	)

	BeforeAll(func(ctx SpecContext) {
		_, err := f.Cluster("cluster1").Kubectl(ctx, "apply", "-f", testdata("virtualmachine.crd.yaml"))
		Expect(err).NotTo(HaveOccurred())
		_, err = f.Cluster("cluster1").Kubectl(ctx, "wait", "--for=condition=Established", "crd/virtualmachines.kubevirt.io")
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Git.Create(ctx, "machines", testdataFS("virtualmachine.yaml"))).To(Succeed())
		apply(ctx, machinesSet(set, name))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "--namespace", argocdNamespace, "applicationset", set, "--wait=false")
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, read(hub, named(name))).Should(BeNil())
		})
		Eventually(ctx, func(ctx context.Context) error {
			_, err := f.Cluster("cluster1").Kubectl(ctx, "--namespace", set, "get", "virtualmachines.kubevirt.io", "vm")
			return err
		}).Should(Succeed())
	})

	stepByStep := func(ctx context.Context) {
		GinkgoHelper()
		for _, step := range []struct{ status, health string }{
			{stopped, "Suspended"}, {starting, "Progressing"}, {running, "Healthy"},
		} {
			machine(ctx, step.status)
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Health.Status", step.health))
			Eventually(ctx, rowOf(set, "cluster1")).Should(HaveField("HealthStatus", step.health))
		}
	}
	// sampled measures the time of the given number of changes.
	sampled := func(ctx context.Context, samples int) {
		GinkgoHelper()
		var onCluster, onHub, inReport []time.Duration
		for i := range samples {
			step := []struct{ status, health string }{{starting, "Progressing"}, {running, "Healthy"}}[i%2]
			began := time.Now()
			machine(ctx, step.status)
			// The clock of the way back starts when the cluster's own Argo CD shows the change.
			Eventually(ctx, read(cluster["cluster1"], named(name))).WithPolling(2 * time.Millisecond).
				Should(HaveField("Status.Health.Status", step.health))
			there := time.Now()
			Eventually(ctx, read(hub, named(name))).WithPolling(2 * time.Millisecond).
				Should(HaveField("Status.Health.Status", step.health))
			shown := time.Now()
			Eventually(ctx, rowOf(set, "cluster1")).WithPolling(2 * time.Millisecond).
				Should(HaveField("HealthStatus", step.health))
			onCluster = append(onCluster, there.Sub(began))
			onHub, inReport = append(onHub, shown.Sub(there)), append(inReport, time.Since(there))
		}
		for what, times := range map[string][]time.Duration{
			"cluster's resource to cluster's Application":    onCluster,
			"cluster's Application to hub Application":       onHub,
			"cluster's Application to ApplicationSet report": inReport,
		} {
			slices.Sort(times)
			AddReportEntry(fmt.Sprintf("%s: p50 %s, max %s of %d", what,
				times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond), len(times)))
		}
	}

	It("is shown step by step: Suspended, Progressing, Healthy", stepByStep)
	It("reaches the hub Application and the report", func(ctx SpecContext) { sampled(ctx, samples) })

	It("is shown step by step with the agent too, with the changed resource", nightly, func(ctx SpecContext) {
		installAddOn(ctx)
		agent, err := towline.RunAgent(ctx, f, binary, "cluster1", "agent-machines")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(agent.Stop)
		Eventually(ctx, rowOf(set, "cluster1")).Should(HaveField("ResourceCounts", HaveValue(HaveField("Total", int32(1)))))
		stepByStep(ctx)
		works := HaveField("Synced", int32(1))
		if f.Cluster("cluster1").ArgoCDVersion() == "2.14" { // by default, 3.x keeps the health of resources elsewhere
			works = And(works, HaveField("Healthy", int32(1)))
		}
		Eventually(ctx, rowOf(set, "cluster1")).Should(HaveField("ResourceCounts", HaveValue(works)))
		sampled(ctx, samples)
	})
})

// machinesSet returns an ApplicationSet with a single Application for cluster1. The Application deploys the
// VirtualMachine.
func machinesSet(set, app string) string {
	GinkgoHelper()
	object := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": set, "namespace": argocdNamespace},
		"spec": map[string]any{
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{map[string]any{"name": "cluster1"}}}}},
			"template": map[string]any{
				"metadata": map[string]any{
					"name":        app,
					"labels":      map[string]any{"apps.open-cluster-management.io/pull-to-ocm-managed-cluster": "true"},
					"annotations": map[string]any{"apps.open-cluster-management.io/ocm-managed-cluster": "{{name}}", "argocd.argoproj.io/skip-reconcile": "true"},
				},
				"spec": map[string]any{
					"project":     "default",
					"source":      map[string]any{"repoURL": f.Git.URL("machines"), "path": ".", "targetRevision": "main"},
					"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": set},
					"syncPolicy":  map[string]any{"automated": map[string]any{}, "syncOptions": []any{"CreateNamespace=true"}},
				},
			},
		},
	}
	manifest, err := yaml.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(manifest)
}

// emptied is an ApplicationSet with the Applications of a list of clusters. Its parameters are the list, the label, the
// annotations, and the spec of the Applications.
const emptied = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: emptied, namespace: argocd}
spec:
  generators: [{list: {elements: [%s]}}]
  template:
    metadata:
      name: 'emptied-{{cluster}}'
      labels: {%s: "true"}
      annotations: {%s: '{{cluster}}', %s: "true"}
    spec: %s
`

// With the ApplicationSet, the garbage collector usually deletes the report first. The report of an ApplicationSet that
// stays is deleted only by Towline.
var _ = Describe("The report of an ApplicationSet that stays", usesRights, func() {
	It("goes after the last Application, and comes back with the next Application", func(ctx SpecContext) {
		const set, app = "emptied", "emptied-cluster1"
		on := func(clusters string) {
			GinkgoHelper()
			apply(ctx, fmt.Sprintf(emptied, clusters, apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile, spec("guestbook", set)))
		}
		withoutApplicationSet(set, app)
		on("{cluster: cluster1}")
		Eventually(ctx, rowOf(set, "cluster1")).Should(And(Not(BeNil()), HaveField("HealthStatus", "Healthy")))
		on("")
		Eventually(ctx, read(hub, named(app))).Should(BeNil())
		Eventually(ctx, read(hub, reportOf(set))).Should(BeNil())
		on("{cluster: cluster1}")
		Eventually(ctx, rowOf(set, "cluster1")).Should(And(Not(BeNil()), HaveField("HealthStatus", "Healthy")))
	})
})
