package hubs

import (
	"context"
	"os"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
)

// withoutGit takes the way to Git from the Argo CD of a regional hub, which then reads through the top hub.
func withoutGit(ctx context.Context, w *world) {
	const name = "region1"
	r := w.regions[name]
	_, err := towline.RunSource(ctx, w.top)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(towline.InstallAddOn(ctx, w.top, "agent-source")).To(Succeed())
	binary, err := towline.Build(ctx, w.top)
	w.Expect(err).NotTo(HaveOccurred())
	_, address, err := towline.OpenDoor(ctx, w.top, binary, name, &r.Hub.ControlPlane)
	w.Expect(err).NotTo(HaveOccurred())
	if os.Geteuid() == 0 { // the rights for a network namespace
		back, err := r.Hub.Isolate(ctx, address)
		w.Expect(err).NotTo(HaveOccurred())
		w.t.Cleanup(func() {
			if err := back(context.WithoutCancel(ctx)); err != nil {
				w.t.Error(err)
			}
		})
		out, err := r.Hub.CombinedOutput(ctx, "git", "ls-remote", w.top.Git.URL(fleet.AppsRepo))
		w.Expect(err).To(HaveOccurred(), "%s", out)
		w.Expect(string(out)).To(ContainSubstring("Failed to connect"))
	}
	began := time.Now()
	w.kubectl(ctx, &w.top.Hub.ControlPlane, "label", "managedcluster", name, apis.AnnotationSource+"="+apis.SourceHub)
	app := []string{"--namespace=argocd", "get", "applications.argoproj.io", name + "-regional-guestbook", "--output=jsonpath={.spec.source.repoURL}"}
	w.Eventually(ctx, func(ctx context.Context) (string, error) { return r.Hub.Kubectl(ctx, app...) }, soon, tick).Should(
		HavePrefix("https://" + address + "/"))
	w.Expect(w.kubectl(ctx, &w.top.Hub.ControlPlane, app...)).To(Equal(w.top.Git.URL(fleet.AppsRepo)))

	const option, another = "- CreateNamespace=true", "\n        - ApplyOutOfSyncOnly=true"
	w.commit(ctx, inGit, strings.Replace(w.read(ctx, inGit), option, option+another, 1))
	w.expectEdge(ctx, r, "{.spec.syncPolicy.syncOptions[1]}", "ApplyOutOfSyncOnly=true")
	w.expectTop(ctx, allHealthy)
	w.t.Logf("a commit came to the region without Git, and to its cluster, after %s", time.Since(began).Round(100*time.Millisecond))
}
