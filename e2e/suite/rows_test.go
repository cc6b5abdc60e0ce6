package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// forbidImages makes a cluster refuse Deployments with an image of a registry, as a company's policy would. The
// returned function ends the refusal.
func forbidImages(ctx context.Context, on, registry string) (allow func(context.Context)) {
	GinkgoHelper()
	name := "only-known-registries"
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			},
		}}},
		Validations: []admissionv1.Validation{{
			Expression: `object.spec.template.spec.containers.all(c, !c.image.startsWith("` + registry + `/"))`,
			Message:    "images of " + registry + " are not allowed on " + on,
		}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}
	Expect(cluster[on].Create(ctx, policy)).To(Succeed())
	Expect(cluster[on].Create(ctx, binding)).To(Succeed())
	trial := guestbookOf("guestbook")
	Eventually(ctx, func(ctx context.Context) error {
		Expect(cluster[on].Get(ctx, client.ObjectKeyFromObject(trial), trial)).To(Succeed())
		trial.Spec.Template.Spec.Containers[0].Image = registry + "/guestbook:2"
		return cluster[on].Update(ctx, trial, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("not allowed on " + on)))
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(client.IgnoreNotFound(cluster[on].Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(cluster[on].Delete(ctx, policy))).To(Succeed())
	}
}

// failureOf returns a function that reads the failure of the guestbook's Deployment on a cluster from the report of a
// set.
func failureOf(set, on string) func(context.Context) (*v1alpha1.ResourceFailure, error) {
	return func(ctx context.Context) (*v1alpha1.ResourceFailure, error) {
		report, err := read(hub, reportOf(set))(ctx)
		if report == nil || err != nil {
			return nil, err
		}
		for _, r := range report.Statuses.Resources {
			at := slices.IndexFunc(r.Failures, func(f v1alpha1.ResourceFailure) bool { return f.Cluster == on })
			if r.Kind == "Deployment" && at >= 0 {
				return &r.Failures[at], nil
			}
		}
		return nil, nil
	}
}

var _ = Describe("The seed's ApplicationSet, broken on one cluster", Ordered, Serial, func() {
	const (
		set    = "guestbook-app-set"
		broken = "cluster2" // its Argo CD 2 keeps the health of resources
		name   = "cluster2-guestbook-app"
		file   = "guestbook/deployment.yaml"
	)
	reasons := 10 * time.Second // maximum delay from the cluster's Argo CD to the hub's report
	if oldest() {
		reasons = 40 * time.Second // the agents of OCM 1.0 poll, every 10 to 20 s
	}
	var manifest string

	// change commits an edit of the guestbook's Deployment, and refreshes the clusters as a webhook would. It returns
	// the time before the commit.
	change := func(ctx context.Context, message string, edit func(string) string) time.Time {
		GinkgoHelper()
		changed := edit(manifest)
		Expect(changed).NotTo(Equal(manifest))
		began := time.Now()
		_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{file: changed}, message)
		Expect(err).NotTo(HaveOccurred())
		for _, c := range f.Clusters() {
			hardRefresh(ctx, c.Name(), c.Name()+"-guestbook-app")
		}
		return began
	}
	// mend reverts the edit.
	mend := func(ctx context.Context) {
		GinkgoHelper()
		_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{file: manifest}, "Take it back")
		Expect(err).NotTo(HaveOccurred())
		for _, c := range f.Clusters() {
			hardRefresh(ctx, c.Name(), c.Name()+"-guestbook-app")
		}
	}
	image := func(text string) string {
		return strings.Replace(text, "registry.example.com/guestbook:1.0.0", "registry.example.net/guestbook:2.0.0", 1)
	}
	fineBut := func(ctx context.Context, but string) {
		GinkgoHelper()
		for _, c := range f.Clusters() {
			if c.Name() != but {
				Eventually(ctx, rowOf(set, c.Name())).Should(And(Not(BeNil()), HaveField("HealthStatus", "Healthy"),
					HaveField("SyncStatus", "Synced"), HaveField("Conditions", BeEmpty())))
			}
		}
	}
	allAreFine := func(ctx context.Context) {
		GinkgoHelper()
		fineBut(ctx, "")
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		manifest, err = f.Git.Read(ctx, fleet.AppsRepo, file)
		Expect(err).NotTo(HaveOccurred())
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/guestbook-app-set.yaml")).To(Succeed())
		allAreFine(ctx)
	})
	AfterAll(func(ctx SpecContext) {
		if now, err := f.Git.Read(ctx, fleet.AppsRepo, file); err == nil && now != manifest {
			_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{file: manifest}, "Take it back")
			Expect(err).NotTo(HaveOccurred())
		}
		withoutGuestbook(ctx)
	})

	// refused breaks the ApplicationSet by an image that a cluster refuses, and repairs the ApplicationSet after check.
	refused := func(ctx context.Context, on string, check func(began time.Time)) {
		GinkgoHelper()
		why := "images of registry.example.net are not allowed on " + on
		allow := forbidImages(ctx, on, "registry.example.net")
		DeferCleanup(allow)
		began := change(ctx, "Take the image from elsewhere", image)
		told := HaveField("Status.OperationState", And(HaveField("Phase", "Running"), HaveField("Message", ContainSubstring(why))))
		Eventually(ctx, read(cluster[on], named(on+"-guestbook-app"))).WithPolling(20 * time.Millisecond).Should(told)
		onCluster := time.Since(began)
		Eventually(ctx, read(hub, named(on+"-guestbook-app"))).WithPolling(20 * time.Millisecond).Should(told)
		onHub := time.Since(began)
		Eventually(ctx, rowOf(set, on)).WithPolling(20 * time.Millisecond).Should(HaveField("Conditions", ContainElement(And(
			HaveField("Type", apis.ConditionOperationError), HaveField("Message", ContainSubstring(why))))))
		inReport := time.Since(began)
		AddReportEntry(fmt.Sprintf("from the commit to why %s refuses it: %.1f s on the cluster, %.1f s on the hub's Application, %.1f s in the report",
			on, onCluster.Seconds(), onHub.Seconds(), inReport.Seconds()))
		Expect(inReport-onCluster).To(BeNumerically("<", reasons), "the cluster's own Argo CD knew for long")
		check(began)
		fineBut(ctx, on)
		show(ctx, "refused on one cluster", "get", "multiclusterapplicationsetreports", set, "--output", "yaml")
		allow(ctx) // Argo CD retries the refused revision
		allAreFine(ctx)
		mend(ctx)
		allAreFine(ctx)
	}
	// stuck breaks the ApplicationSet by a pod that fits no node of the cluster, and repairs the ApplicationSet after
	// check.
	stuck := func(ctx context.Context, check func(began time.Time)) {
		GinkgoHelper()
		const why = "exceeded its progress deadline"
		c := f.Cluster(broken)
		label := func(ctx context.Context, with string) {
			GinkgoHelper()
			_, err := c.Kubectl(ctx, "label", "node", broken+"-node", with)
			Expect(err).NotTo(HaveOccurred())
		}
		label(ctx, "type-")
		DeferCleanup(func(ctx SpecContext) {
			_, err := c.Kubectl(ctx, "label", "--overwrite", "node", broken+"-node", "type=kwok")
			Expect(err).NotTo(HaveOccurred())
		})
		began := change(ctx, "Ask for nodes of one type", func(text string) string {
			text = strings.Replace(text, "  replicas: 1\n", "  replicas: 1\n  progressDeadlineSeconds: 1\n", 1)
			return strings.Replace(text, "      containers:\n", "      nodeSelector: {type: kwok}\n      containers:\n", 1)
		})
		explains := ContainElement(And(HaveField("Type", apis.ConditionResourcesDegraded),
			HaveField("Message", And(ContainSubstring("guestbook-ui"), ContainSubstring(why)))))
		Eventually(ctx, read(cluster[broken], named(name))).WithPolling(20 * time.Millisecond).Should(HaveField("Status.Health.Status", "Degraded"))
		onCluster := time.Since(began)
		Eventually(ctx, read(hub, named(name))).WithPolling(20 * time.Millisecond).Should(And(
			HaveField("Status.Health.Status", "Degraded"), HaveField("Status.Conditions", explains)))
		onHub := time.Since(began)
		Eventually(ctx, rowOf(set, broken)).WithPolling(20 * time.Millisecond).Should(HaveField("Conditions", explains))
		inReport := time.Since(began)
		AddReportEntry(fmt.Sprintf("from the commit to why it is Degraded: %.1f s on the cluster, %.1f s on the hub's Application, %.1f s in the report",
			onCluster.Seconds(), onHub.Seconds(), inReport.Seconds()))
		Expect(inReport-onCluster).To(BeNumerically("<", reasons), "the cluster's own Argo CD knew for long")
		check(began)
		fineBut(ctx, broken)
		label(ctx, "type=kwok")
		allAreFine(ctx)
		mend(ctx)
		allAreFine(ctx)
	}

	It("shows within 10 s why the cluster refuses a sync, during the retries", nightly, func(ctx SpecContext) {
		for _, on := range []string{"cluster1", broken} { // with Argo CD 3 and 2
			refused(ctx, on, func(time.Time) {})
		}
	})
	It("shows the reason for Degraded as soon as the cluster reports the reason", func(ctx SpecContext) {
		stuck(ctx, func(time.Time) {
			app, err := read(hub, named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(app.Status.Resources).To(BeEmpty(), "an agent runs")
		})
	})

	It("lists the failed resources with clusters and reasons, with the agent", long, func(ctx SpecContext) {
		installAddOn(ctx)
		agent, err := towline.RunAgent(ctx, f, binary, broken, "agent-rows")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(agent.Stop)
		Eventually(ctx, rowOf(set, broken)).Should(HaveField("ResourceCounts", HaveValue(HaveField("Total", int32(2)))))
		listed := func(began time.Time, state, why string) {
			GinkgoHelper()
			Eventually(ctx, failureOf(set, broken)).WithPolling(20 * time.Millisecond).Should(And(Not(BeNil()),
				HaveField("State", state), HaveField("Message", ContainSubstring(why))))
			AddReportEntry(fmt.Sprintf("%s: in the list of resources %.1f s after the commit", state, time.Since(began).Seconds()))
		}
		refused(ctx, broken, func(began time.Time) { listed(began, "SyncFailed", "are not allowed on "+broken) })
		stuck(ctx, func(began time.Time) {
			listed(began, "Degraded", "exceeded its progress deadline")
			expectCondition(ctx, name, apis.ConditionResourcesDegraded, `Deployment guestbook/guestbook-ui: Deployment "guestbook-ui" exceeded`)
		})

		By("listing what is missing")
		allow := forbidImages(ctx, broken, "registry.example.com")
		DeferCleanup(allow)
		began := time.Now()
		Expect(cluster[broken].Delete(ctx, guestbookOf("guestbook"))).To(Succeed())
		listed(began, "Missing", "images of registry.example.com are not allowed")
		allow(ctx)
		allAreFine(ctx)
		Eventually(ctx, failureOf(set, broken)).Should(BeNil())
	})

	It("is no longer green after the cluster's Argo CD has stopped", long, func(ctx SpecContext) {
		const on, standing, after = busyCluster, busyCluster + "-guestbook-app", 45 * time.Second
		installAddOn(ctx)
		agent, err := towline.RunAgent(ctx, f, binary, on, "agent-still", "--not-compared-after="+after.String())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(agent.Stop)
		Eventually(ctx, rowOf(set, on)).Should(HaveField("ResourceCounts", Not(BeNil())))
		app := expectAtRest(ctx, standing)

		By("costing the hub nothing while it compares")
		versions := func(ctx context.Context) ([]string, error) {
			here, err := read(hub, named(standing))(ctx)
			if err != nil {
				return nil, err
			}
			reported, err := read(hub, appReportOf(ctx, standing))(ctx)
			if err != nil {
				return nil, err
			}
			w, err := read(hub, workOf(app))(ctx)
			return []string{here.ResourceVersion, reported.ResourceVersion, w.ResourceVersion}, err
		}
		before := expectSettled(ctx, versions)
		compared := func(ctx context.Context) string {
			GinkgoHelper()
			there, err := read(cluster[on], named(standing))(ctx)
			Expect(err).NotTo(HaveOccurred())
			return there.Status.ReconciledAt
		}
		first := compared(ctx)
		Consistently(ctx, versions).WithTimeout(after + 5*time.Second).WithPolling(time.Second).Should(Equal(before))
		Expect(compared(ctx)).NotTo(Equal(first), "the cluster has not compared")

		By("standing still")
		Expect(f.Cluster(on).StopProcess(ctx, "argocd-application-controller")).To(Succeed())
		running := false
		DeferCleanup(func(ctx SpecContext) {
			if !running {
				Expect(f.Cluster(on).StartProcess(ctx, "argocd-application-controller")).To(Succeed())
			}
		})
		last := compared(ctx)
		expectCondition(ctx, standing, apis.ConditionNotCompared, "has not compared the Application with Git since "+last)
		Eventually(ctx, rowOf(set, on)).Should(And(HaveField("HealthStatus", "Healthy"),
			HaveField("Conditions", ContainElement(HaveField("Type", apis.ConditionNotCompared)))))
		Eventually(ctx, read(hub, reportOf(set))).Should(And(HaveField("Statuses.Summary.NotCompared", "1"),
			HaveField("Status.Conditions", ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", apis.ReasonNotCompared))))))
		show(ctx, "standing still", "get", "multiclusterapplicationsetreports", set, "--output", "yaml")

		By("telling of an Application that it has never compared")
		const never = "never-compared"
		standalone(ctx, never, on)
		Eventually(ctx, read(cluster[on], named(never))).ShouldNot(BeNil())
		created, err := read(cluster[on], named(never))(ctx)
		Expect(err).NotTo(HaveOccurred())
		expectCondition(ctx, never, apis.ConditionNotCompared, "has not compared the Application with Git since "+
			created.CreationTimestamp.UTC().Format(time.RFC3339))

		By("going on")
		Expect(f.Cluster(on).StartProcess(ctx, "argocd-application-controller")).To(Succeed())
		running = true
		expectNoCondition(ctx, standing, apis.ConditionNotCompared)
		expectNoCondition(ctx, never, apis.ConditionNotCompared)
		allAreFine(ctx)
		Eventually(ctx, read(hub, reportOf(set))).Should(HaveField("Statuses.Summary.NotCompared", "0"))
	})
})
