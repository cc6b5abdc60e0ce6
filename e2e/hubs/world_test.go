package hubs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// inGit is the file that example/hubs/top.yaml brings to every regional hub.
const inGit = "example/hubs/region/guestbook.yaml"

// prompt makes Argo CD read Git every few seconds, instead of every few minutes, and show the health of each resource
// in the Application's status.
var prompt = map[string][]string{
	"argocd-application-controller": {"--app-resync=5", "--app-resync-jitter=0", "--persist-resource-health"},
	"argocd-repo-server":            {"--revision-cache-expiration=1s"},
}

// region is a regional hub with its clusters.
type region struct {
	*fleet.Fleet

	// below is the regional hub as a managed cluster of the top hub.
	below *fleet.Cluster

	// edge is the name of the region's only cluster.
	edge string
}

// world is the top hub and the regions.
type world struct {
	*WithT

	t       *testing.T
	top     *fleet.Fleet
	regions map[string]*region
}

// start starts the fleets in parallel, runs Towline on each hub, and joins the regional hubs to the top hub.
func start(ctx context.Context, t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, regions: map[string]*region{"region1": {edge: "edge1"}, "region2": {edge: "edge2"}}}
	group, starting := errgroup.WithContext(ctx)
	// The top hub has no cluster of its own, and the regions have different versions of Argo CD.
	group.Go(func() (err error) { w.top, err = w.fleet(starting, "top", "3"); return err })
	group.Go(func() (err error) {
		w.regions["region1"].Fleet, err = w.fleet(starting, "region1", "3", "edge1")
		return err
	})
	group.Go(func() (err error) {
		w.regions["region2"].Fleet, err = w.fleet(starting, "region2", "2.14", "edge2")
		return err
	})
	w.Expect(group.Wait()).To(Succeed())
	w.run(ctx, w.top)
	for name, r := range w.regions {
		w.run(ctx, r.Fleet)
		w.Expect(towline.WaitImported(ctx, r.Fleet)).To(Succeed())
		w.join(ctx, name, r)
	}
	return w
}

func (w *world) fleet(ctx context.Context, name, argocd string, clusters ...string) (*fleet.Fleet, error) {
	extra := map[string][]string{"argocd-repo-server": prompt["argocd-repo-server"]}
	if len(clusters) > 0 {
		extra = prompt
	}
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: filepath.Join(w.t.TempDir(), name), Clusters: append([]string{}, clusters...), ArgoCD: []string{argocd}, ExtraArgs: extra, Progress: os.Stderr,
	})
	if err == nil {
		w.t.Cleanup(f.Stop)
	}
	return f, err
}

// run installs Towline on a hub, and starts Towline.
func (w *world) run(ctx context.Context, f *fleet.Fleet) {
	w.t.Helper()
	w.Expect(towline.Install(ctx, f)).To(Succeed())
	binary, err := towline.Build(ctx, f)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = towline.Run(ctx, f, binary, "towline")
	w.Expect(err).NotTo(HaveOccurred())
}

// join makes a regional hub a managed cluster of the top hub, as in docs/hubs.md: with the rights of the agents, the
// health checks for its Argo CD, and an application controller.
func (w *world) join(ctx context.Context, name string, r *region) {
	w.t.Helper()
	var err error
	r.below, err = w.top.JoinHub(ctx, name, r.Hub)
	w.Expect(err).NotTo(HaveOccurred())
	w.kubectl(ctx, &w.top.Hub.ControlPlane, "label", "managedcluster", name, "hub=regional")
	w.Expect(towline.Apply(ctx, w.top, &r.Hub.ControlPlane, "example/managed")).To(Succeed())
	w.kubectl(ctx, &r.Hub.ControlPlane, "--namespace=argocd", "patch", "configmap", "argocd-cm", "--type=merge",
		"--patch-file="+filepath.Join(towline.Root(), "deploy/argocd-health/argocd-cm.yaml"))
	// The guestbook and the rights of its AppProjects come from the top hub's Git.
	w.Expect(towline.Apply(ctx, w.top, &r.Hub.ControlPlane, "example/hub/appproject.yaml")).To(Succeed())
	w.Expect(r.Hub.StartArgoCD(ctx)).To(Succeed())
}

func (w *world) kubectl(ctx context.Context, plane *fleet.ControlPlane, args ...string) string {
	w.t.Helper()
	out, err := plane.Kubectl(ctx, args...)
	w.Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(out)
}

// commit changes a file in Git.
func (w *world) commit(ctx context.Context, name, text string) {
	w.t.Helper()
	_, err := w.top.Git.Commit(ctx, fleet.AppsRepo, map[string]string{name: text}, "Change "+name)
	w.Expect(err).NotTo(HaveOccurred())
}

// messages returns the resources from the top hub on a regional hub, with their health and Argo CD's messages.
func (w *world) messages(ctx context.Context, r *region) string {
	w.t.Helper()
	return w.kubectl(ctx, &r.Hub.ControlPlane, "--namespace=argocd", "get", "applications.argoproj.io", r.below.Name()+"-regional-guestbook",
		`--output=jsonpath={range .status.resources[*]}{.kind} {.status} {.health.status}: {.health.message}{"\n"}{end}`)
}

// look logs the objects of all hubs after a failure.
func (w *world) look(ctx context.Context) {
	show := func(plane *fleet.ControlPlane) {
		out, err := plane.Kubectl(ctx, "get", "applications.argoproj.io,applicationsets.argoproj.io,appsetreports,manifestworks",
			"--all-namespaces", "--ignore-not-found", "--output=yaml")
		w.t.Logf("%s: %v\n%.20000s", plane.Server(), err, out)
	}
	show(&w.top.Hub.ControlPlane)
	for _, r := range w.regions {
		show(&r.Hub.ControlPlane)
	}
}
