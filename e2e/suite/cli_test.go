package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// other maps a cluster to a different cluster.
var other = map[string]string{"cluster1": "cluster2", "cluster2": "cluster1"}

// rendered returns a spec with a rendering option and without automated sync.
func rendered(namespace string) string {
	return strings.Replace(manual("guestbook", namespace), `"path":`, `"directory":{"recurse":true},"path":`, 1)
}

// useCLI runs the argocd CLI's commands of docs/agent.md on an Application.
func useCLI(ctx context.Context, argo func(ctx context.Context, args ...string) string, name, on string) {
	GinkgoHelper()
	app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Spec(rendered(name)) })
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))
	run := func(args ...string) string {
		began := time.Now()
		out := argo(ctx, append([]string{"app"}, args...)...)
		AddReportEntry(fmt.Sprintf("argocd app %v on %s, after %.1f s", args, on, time.Since(began).Seconds()), out)
		return out
	}
	good := func(args ...string) string {
		GinkgoHelper()
		out := run(args...)
		Expect(out).NotTo(ContainSubstring("exit status"), "%v", args)
		return out
	}
	// argocd-server answers from a cache. The cache may be a moment behind the hub.
	Eventually(func() string { return run("list") }).Should(MatchRegexp(`argocd/` + name + `\s.*OutOfSync`))
	Expect(good("sync", name, "--timeout", "100")).To(MatchRegexp(`Phase:\s+Succeeded`))
	good("wait", name, "--sync", "--health", "--operation", "--timeout", "100")
	Eventually(func() string { return run("get", name, "--refresh") }).Should(MatchRegexp(`Health Status:\s+Healthy`))
	good("get", name, "--hard-refresh")
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.History", HaveLen(1)))
	Eventually(func() string { return run("history", name) }).Should(MatchRegexp(`(?m)^0\s`))
	Expect(good("rollback", name, "0", "--timeout", "100")).To(MatchRegexp(`Phase:\s+Succeeded`))
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.History", And(HaveLen(2),
		HaveEach(HaveField("Source.Whole", ContainSubstring(`"recurse":true`))))), "the rendering options")

	// Commands that need more than the hub's data fail at once.
	Eventually(func() string { return run("terminate-op", name) }).Should(ContainSubstring("No operation is in progress"))
	for _, args := range [][]string{{"manifests", name}, {"diff", name}, {"resources", name}} {
		Expect(run(args...)).To(ContainSubstring("cache: key is missing"))
	}

	good("set", name, "--sync-option", "CreateNamespace=true", "--sync-option", "Validate=false")
	Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Spec.Raw", ContainSubstring("Validate=false")))
	patchHub(ctx, name, `{"metadata":{"annotations":{"`+apis.AnnotationCluster+`":"`+other[on]+`"}}}`)
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.History", BeEmpty()), "the history of the cluster before")
	Eventually(func() string { return run("rollback", name, "0") }).Should(ContainSubstring("does not have deployment id '0' in history"))
	good("delete", name, "--yes")
	Eventually(ctx, read(hub, app)).Should(BeNil())
	Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
	Expect(read(cluster[on], guestbookOf(name))(ctx)).To(BeNil())
}
