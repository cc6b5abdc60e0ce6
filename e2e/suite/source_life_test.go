package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/pkg/source"
)

// sourceLife follows an Application of the guestbook over changes of the way to its repository. The AppProject has the same
// name.
type sourceLife struct{ name, repo, before string }

// workload returns the UIDs of the Application and its workload on a cluster, and the generation of the Deployment.
func (l *sourceLife) workload(ctx context.Context, on string) string {
	GinkgoHelper()
	return fmt.Sprint(uids(ctx, on, l.name), ", generation ", deployment(ctx, on, l.name).Generation)
}

// begin notes the workload on a cluster.
func (l *sourceLife) begin(ctx context.Context, on string) {
	GinkgoHelper()
	l.before = l.workload(ctx, on)
	AddReportEntry(fmt.Sprintf("on %s: %s", on, l.before))
}

// expectSame expects the noted workload.
func (l *sourceLife) expectSame(ctx context.Context, on string) {
	GinkgoHelper()
	Expect(l.workload(ctx, on)).To(Equal(l.before))
}

// expect waits until the cluster has compared with the repository at an address without an error, and expects the noted workload.
func (l *sourceLife) expect(ctx context.Context, on, address string) {
	GinkgoHelper()
	Eventually(ctx, read(cluster[on], named(l.name))).Should(HaveField("Spec.Raw", ContainSubstring(`"repoURL":"`+address+`"`)))
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		hardRefresh(ctx, on, l.name)
		g.Eventually(ctx, read(cluster[on], named(l.name))).Should(HaveField("Refresh()", BeEmpty()))
		there := whole(ctx, cluster[on], l.name).Object
		compared, _, err := unstructured.NestedString(there, "status", "sync", "comparedTo", "source", "repoURL")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(compared).To(Equal(address))
		state, _, err := unstructured.NestedString(there, "status", "sync", "status")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(state).To(Equal("Synced"))
		conditions, _, err := unstructured.NestedSlice(there, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conditions).To(BeEmpty())
	}).WithPolling(2 * time.Second).Should(Succeed())
	l.expectSame(ctx, on)
}

// door returns the answer of the hub to a cluster about the references of a repository.
func (l *sourceLife) door(ctx context.Context, on, repo string) string {
	GinkgoHelper()
	name := source.Name(l.name, repo)
	code, text := askHub(ctx, on, source.Path(on, name)+refsOf)
	return strings.ReplaceAll(fmt.Sprint(code, " ", text), name, "NAME")
}

// expectOpen waits until the hub serves the repository to a cluster.
func (l *sourceLife) expectOpen(ctx context.Context, on string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) string { return l.door(ctx, on, l.repo) }).Should(HavePrefix("200 "))
}

// expectClosed waits until the hub answers a cluster as for an absent repository.
func (l *sourceLife) expectClosed(ctx context.Context, on string) {
	GinkgoHelper()
	absent := l.door(ctx, on, "https://git.example.com/absent.git")
	Expect(absent).To(HavePrefix("404 "))
	Eventually(ctx, func(ctx context.Context) string { return l.door(ctx, on, l.repo) }).Should(Equal(absent))
}

// arrivals waits until the ConfigMap of each Application has a value, and returns the times since began. names has the cluster
// of each Application.
func arrivals(ctx context.Context, names map[string]string, value string, began time.Time, within time.Duration) map[string]time.Duration {
	GinkgoHelper()
	out := map[string]time.Duration{}
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		for name, on := range names {
			if out[name] > 0 {
				continue
			}
			config, err := read(cluster[on], configMapOn(name, "config"))(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			if config != nil && config.Data["value"] == value {
				out[name] = time.Since(began)
			}
		}
		g.Expect(out).To(HaveLen(len(names)))
	}).WithTimeout(within).Should(Succeed())
	return out
}
