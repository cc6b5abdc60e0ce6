package hubs

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

const (
	soon = 3 * time.Minute
	tick = 100 * time.Millisecond
)

// deployment is the path of the guestbook's Deployment in Git.
const deployment = "guestbook/deployment.yaml"

// TestHubs: a commit becomes healthy in all regions, and the top hub shows one number. Further steps are a broken
// region, a region that is cut off and returns, a region without a way to Git, and a region without a cluster.
func TestHubs(t *testing.T) {
	if os.Getenv("TOWLINE_HUBS_TEST") == "" {
		t.Skip("set TOWLINE_HUBS_TEST=1 to start a top hub and two regional hubs with a cluster each")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	w := start(ctx, t)
	for _, step := range []struct {
		name string
		run  func(context.Context, *world)
	}{
		{"one number at the top, and never too early", delivers},
		{"a commit goes everywhere", changes},
		{"what breaks in the regions is seen at the top", breaks},
		{"a region that is cut off goes on by itself, and returns", cutOff},
		{"a region without a way to Git reads through the top hub", withoutGit},
		{"a region without clusters is not waited for", empty},
	} {
		if !t.Run(step.name, func(t *testing.T) { w.t, w.WithT = t, NewWithT(t); step.run(ctx, w) }) {
			w.look(ctx)
			return // each step depends on the earlier steps
		}
	}
}

// delivers applies the example. When the top hub first reports both regions as healthy, the guestbook runs on both
// clusters.
func delivers(ctx context.Context, w *world) {
	text, err := towline.Manifest(w.top, inGit)
	w.Expect(err).NotTo(HaveOccurred())
	w.commit(ctx, inGit, text)
	w.kubectl(ctx, &w.top.Hub.ControlPlane, "--namespace=argocd", "wait", "--for=condition=Ready", "gitopscluster/clusters", "--timeout=60s")
	began := time.Now()
	w.Expect(towline.Apply(ctx, w.top, &w.top.Hub.ControlPlane, "example/hubs/top.yaml")).To(Succeed())
	w.expectTop(ctx, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Healthy).NotTo(BeEmpty())
		if r.Statuses.Summary.Healthy != "0" {
			for _, row := range r.Statuses.ClusterConditions {
				if row.HealthStatus == "Healthy" {
					w.runs(ctx, row.Cluster)
				}
			}
		}
		allHealthy(g, r)
	})
	w.t.Logf("everywhere healthy, and known at the top, %s after the ApplicationSet", time.Since(began).Round(100*time.Millisecond))
	for _, r := range w.regions {
		w.expectMessage(ctx, r, "1 of 1 Applications healthy")
	}
}

// changes commits a change of the guestbook, which each cluster pulls, and a change of the ApplicationSet, which each
// regional hub pulls.
func changes(ctx context.Context, w *world) {
	began := time.Now()
	w.commit(ctx, deployment, strings.Replace(w.read(ctx, deployment), "replicas: 1", "replicas: 3", 1))
	for _, r := range w.regions {
		w.expectDeployment(ctx, r, "3")
	}
	w.expectTop(ctx, allHealthy)
	w.t.Logf("a commit was on both clusters, and the top hub had both healthy, after %s", time.Since(began).Round(100*time.Millisecond))

	began = time.Now()
	w.commit(ctx, inGit, strings.Replace(w.read(ctx, inGit), "path: guestbook", "path: kustomize-guestbook/overlays/dev", 1))
	for _, r := range w.regions {
		w.expectEdge(ctx, r, "{.spec.source.path}", "kustomize-guestbook/overlays/dev")
	}
	w.expectTop(ctx, allHealthy)
	w.t.Logf("a change of the ApplicationSet was on both clusters, and healthy at the top, after %s", time.Since(began).Round(100*time.Millisecond))

	w.commit(ctx, inGit, strings.Replace(w.read(ctx, inGit), "path: kustomize-guestbook/overlays/dev", "path: guestbook", 1))
	for _, r := range w.regions {
		w.expectEdge(ctx, r, "{.spec.source.path}", "guestbook")
		w.expectDeployment(ctx, r, "3")
	}
	w.expectTop(ctx, allHealthy)
}

// breaks commits a guestbook that fits no node.
func breaks(ctx context.Context, w *world) {
	good := w.read(ctx, deployment)
	w.commit(ctx, deployment, strings.NewReplacer(
		"replicas: 3", "replicas: 3\n  progressDeadlineSeconds: 5",
		"      containers:", "      nodeSelector: {there-is: none}\n      containers:").Replace(good))
	w.expectTop(ctx, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.ClusterConditions).To(HaveLen(2))
		for _, row := range r.Statuses.ClusterConditions {
			g.Expect(row.HealthStatus).To(Equal("Degraded"))
		}
		g.Expect(r.Statuses.Summary.Healthy).To(Equal("0"))
	})
	for _, r := range w.regions {
		w.expectMessage(ctx, r, "0 of 1 Applications healthy, 1 failing; see "+r.edge)
	}
	w.commit(ctx, deployment, good)
	w.expectTop(ctx, allHealthy)
}

// cutOff stops the agents of a regional hub.
func cutOff(ctx context.Context, w *world) {
	away := w.regions["region1"]
	w.Expect(away.below.StopAgent(ctx)).To(Succeed())
	began := time.Now()
	w.expectTop(ctx, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Unreachable).To(Equal("1"))
		ready := meta.FindStatusCondition(r.Status.Conditions, apis.ConditionReady)
		g.Expect(ready).To(HaveValue(HaveField("Reason", apis.ReasonClustersUnreachable)))
		for _, row := range r.Statuses.ClusterConditions {
			said := HaveField("Type", apis.ConditionClusterUnreachable)
			if row.Cluster == "region1" {
				g.Expect(row.Conditions).To(ContainElement(said))
			} else {
				g.Expect(row.Conditions).NotTo(ContainElement(said))
			}
		}
	})
	w.t.Logf("the top hub said that region1 is away %s after its agents had stopped", time.Since(began).Round(100*time.Millisecond))

	w.commit(ctx, deployment, strings.Replace(w.read(ctx, deployment), "replicas: 3", "replicas: 2", 1))
	const option, another = "- CreateNamespace=true", "\n        - RespectIgnoreDifferences=true"
	w.commit(ctx, inGit, strings.Replace(w.read(ctx, inGit), option, option+another, 1))
	for _, r := range w.regions { // the region without agents has its own access to Git
		w.expectDeployment(ctx, r, "2")
		w.expectEdge(ctx, r, "{.spec.syncPolicy.syncOptions[1]}", "RespectIgnoreDifferences=true")
		w.expectMessage(ctx, r, "1 of 1 Applications healthy")
	}

	began = time.Now()
	w.Expect(away.below.StartAgent(ctx)).To(Succeed())
	w.expectTop(ctx, allHealthy)
	w.t.Logf("region1 was back, and everything healthy, %s after its agents had started", time.Since(began).Round(100*time.Millisecond))
}

// empty makes a region's Placement select no cluster: the Application of the region ends, and the report stays.
func empty(ctx context.Context, w *world) {
	r := w.regions["region2"]
	w.kubectl(ctx, &r.Hub.ControlPlane, "--namespace=argocd", "patch", "placement", "guestbook-app-placement", "--type=merge",
		`--patch={"spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": "none"}}}}]}}`)
	w.expectMessage(ctx, r, "the ApplicationSet has no Applications")
	w.expectTop(ctx, allHealthy)
	w.Eventually(ctx, func(ctx context.Context) string {
		return w.kubectl(ctx, &r.Cluster(r.edge).ControlPlane, "--namespace=guestbook", "get", "deployments", "--output=name")
	}, soon, tick).Should(BeEmpty())
}

// allHealthy checks that the top hub shows 2 of 2 healthy clusters.
func allHealthy(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
	s := r.Statuses.Summary
	g.Expect(s.Healthy + " of " + s.Clusters).To(Equal("2 of 2"))
	g.Expect(meta.IsStatusConditionTrue(r.Status.Conditions, apis.ConditionReady)).To(BeTrue(), "%+v", r.Status.Conditions)
}

// expectTop waits until check passes for the top hub's report.
func (w *world) expectTop(ctx context.Context, check func(Gomega, *v1alpha1.MulticlusterApplicationSetReport)) {
	w.t.Helper()
	w.Eventually(ctx, func(g Gomega, ctx context.Context) {
		out, err := w.top.Hub.Kubectl(ctx, "--namespace=argocd", "get", "appsetreport", "regional-guestbook", "--output=json")
		g.Expect(err).NotTo(HaveOccurred())
		r := &v1alpha1.MulticlusterApplicationSetReport{}
		g.Expect(json.Unmarshal([]byte(out), r)).To(Succeed())
		check(g, r)
	}, soon, tick).Should(Succeed())
}

// runs checks that the guestbook runs on the cluster of a region at this moment.
func (w *world) runs(ctx context.Context, name string) {
	w.t.Helper()
	r := w.regions[name]
	available := w.kubectl(ctx, &r.Cluster(r.edge).ControlPlane, "--namespace=guestbook", "get", "deployment", "guestbook-ui",
		"--output=jsonpath={.status.availableReplicas}")
	w.Expect(available).To(Equal("1"), "the top hub calls %s healthy too early", name)
}

func (w *world) expectDeployment(ctx context.Context, r *region, replicas string) {
	w.t.Helper()
	w.Eventually(ctx, r.Cluster(r.edge).Kubectl, soon, tick).WithArguments("--namespace=guestbook", "get", "deployment", "guestbook-ui",
		"--output=jsonpath={.status.availableReplicas}").Should(Equal(replicas), r.edge)
}

// expectEdge waits until a field of the Application on the cluster of a region has the value.
func (w *world) expectEdge(ctx context.Context, r *region, path, want string) {
	w.t.Helper()
	w.Eventually(ctx, r.Cluster(r.edge).Kubectl, soon, tick).WithArguments(
		"--namespace=argocd", "get", "applications.argoproj.io", r.edge+"-guestbook-app", "--output=jsonpath="+path).Should(Equal(want), r.edge)
}

// expectMessage waits until the Argo CD of a regional hub shows the message in the resources from the top hub.
func (w *world) expectMessage(ctx context.Context, r *region, want string) {
	w.t.Helper()
	w.Eventually(ctx, func(ctx context.Context) string { return w.messages(ctx, r) }, soon, tick).Should(ContainSubstring(want), r.below.Name())
}

func (w *world) read(ctx context.Context, name string) string {
	w.t.Helper()
	text, err := w.top.Git.Read(ctx, fleet.AppsRepo, name)
	w.Expect(err).NotTo(HaveOccurred())
	return text
}
