package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

var _ = Describe("An ApplicationSet on the hub", Ordered, usesRights, func() {
	apps := map[string]string{
		"cluster1": "cluster1-guestbook-app", "cluster2": "cluster2-guestbook-app", "cluster3": "cluster3-guestbook-app",
	}

	AfterAll(func(ctx SpecContext) { withoutGuestbook(ctx) })

	It("becomes a healthy app on every cluster, and the hub shows the health", func(ctx SpecContext) {
		began := time.Now()
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/guestbook-app-set.yaml")).To(Succeed())
		head, err := f.Git.Head(ctx, fleet.AppsRepo)
		Expect(err).NotTo(HaveOccurred())
		for on, name := range apps {
			app := expectHealthy(ctx, name)
			AddReportEntry(fmt.Sprintf("%s Healthy on the hub after %.2f s", name, time.Since(began).Seconds()))
			deployment(ctx, on, "guestbook")

			Eventually(ctx, read(hub, app)).Should(And(
				HaveField("Status.Conditions", BeEmpty()),
				HaveField("Status.Sync.Revision", head),
				HaveField("Status.ReconciledAt", Not(BeEmpty())),
				HaveField("Status.OperationState", And(
					HaveField("Phase", "Succeeded"),
					HaveField("FinishedAt", Not(BeEmpty())),
					HaveField("Message", ContainSubstring("successfully synced")),
					HaveField("SyncResult.Revision", head)))))

			w, err := read(hub, workOf(app))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(w).NotTo(BeNil())
			Expect(w.Labels).To(HaveKeyWithValue("apps.open-cluster-management.io/application-set", "true"))
			Expect(w.Annotations).To(HaveKeyWithValue("apps.open-cluster-management.io/hosting-applicationset", "argocd/guestbook-app-set"))
		}
	})

	It("shows on the hub exactly the status of each cluster", func(ctx SpecContext) {
		for on, name := range apps {
			Eventually(ctx, func(g Gomega, ctx context.Context) {
				there, err := read(cluster[on], named(name))(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				here, err := read(hub, named(name))(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(here.Status.Health.Status).To(Equal(there.Status.Health.Status))
				g.Expect(here.Status.Sync).To(Equal(there.Status.Sync))
				g.Expect(here.Status.SourceType).To(Equal(there.Status.SourceType))
				// The hub shows the last comparison that a request waited for. The cluster may have compared since.
				g.Expect(here.Status.ReconciledAt >= here.Status.OperationState.FinishedAt).To(BeTrue())
				g.Expect(here.Status.ReconciledAt <= there.Status.ReconciledAt).To(BeTrue())
				// The work agent cannot report lists. The resources of a sync need the add-on (agent_test.go), and so
				// do the options of a sync without a request on the hub. While Argo CD 3 fills its cache, it can take a new
				// object for missing: a second sync, of this resource alone, follows the first sync.
				g.Expect(there.Status.OperationState).To(HaveField("SyncResult", Not(BeNil())))
				there.Status.OperationState.SyncResult.Resources = nil
				sync := &there.Status.OperationState.Operation.Sync
				sync.Prune, sync.SyncOptions, sync.Resources = false, nil, nil
				g.Expect(here.Status.OperationState).To(Equal(there.Status.OperationState))
			}).Should(Succeed())
		}
	})

	It("brings a Git commit to the clusters, and the new revision back", func(ctx SpecContext) {
		manifest, err := f.Git.Read(ctx, fleet.AppsRepo, "guestbook/service.yaml")
		Expect(err).NotTo(HaveOccurred())
		changed := strings.Replace(manifest, "metadata:\n", "metadata:\n  annotations:\n    example.com/changed: \"true\"\n", 1)
		Expect(changed).NotTo(Equal(manifest))
		began := time.Now()
		sha, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{"guestbook/service.yaml": changed}, "Annotate the service")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{"guestbook/service.yaml": manifest}, "Take it back")
			Expect(err).NotTo(HaveOccurred())
		})
		for on, name := range apps {
			hardRefresh(ctx, on, name)
		}
		for _, name := range apps {
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync.Revision", sha))
			AddReportEntry(fmt.Sprintf("%s shows the commit on the hub after %.2f s", name, time.Since(began).Seconds()))
			expectHealthy(ctx, name)
		}
	})

	It("writes nothing once it has converged", func(ctx SpecContext) {
		// The commit of the previous spec was reverted. A cluster that looks at Git in between would still report
		// changes.
		head, err := f.Git.Head(ctx, fleet.AppsRepo)
		Expect(err).NotTo(HaveOccurred())
		for on, name := range apps {
			hardRefresh(ctx, on, name)
			Eventually(ctx, read(hub, named(name))).Should(And(
				HaveField("Status.Sync.Revision", head), HaveField("Status.OperationState.Phase", "Succeeded")))
			expectAtRest(ctx, name)
		}
		versions := func(ctx context.Context) ([]string, error) {
			var out []string
			for _, name := range apps {
				app, err := read(hub, named(name))(ctx)
				if err != nil {
					return nil, err
				}
				w, err := read(hub, workOf(app))(ctx)
				if err != nil {
					return nil, err
				}
				out = append(out, name+" "+app.ResourceVersion+" "+w.ResourceVersion)
			}
			slices.Sort(out) // the order of a map is random
			return out, nil
		}
		Consistently(ctx, versions).WithTimeout(10 * time.Second).Should(Equal(expectSettled(ctx, versions)))
	})

	It("removes the apps from the clusters on its deletion", func(ctx SpecContext) {
		_, err := f.Hub.Kubectl(ctx, "delete", "--namespace", argocdNamespace, "applicationset", "guestbook-app-set", "--wait=false")
		Expect(err).NotTo(HaveOccurred())
		for on, name := range apps {
			Eventually(ctx, read(hub, named(name))).Should(BeNil())
			// The hub Application disappears only after the cluster has removed the Application and its resources.
			Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
			Expect(read(cluster[on], guestbookOf("guestbook"))(ctx)).To(BeNil())
		}
	})
})

var _ = Describe("Every example", func() {
	It("a standalone Application", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(hub.Delete(ctx, named("guestbook")))).To(Succeed())
			Eventually(ctx, read(hub, named("guestbook"))).Should(BeNil())
		})
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/guestbook-application.yaml")).To(Succeed())
		expectHealthy(ctx, "guestbook")
	})

	It("a private repository, whose credential travels", func(ctx SpecContext) {
		const password = "password-of-the-example"
		Expect(f.Git.Create(ctx, "example-private", fstest.MapFS{
			"config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-git}\n"), Mode: 0o644},
		})).To(Succeed())
		Expect(f.Git.Protect("example-private", "reader", password)).To(Succeed())
		example, err := towline.Manifest(f, "example/private-repository.yaml")
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, strings.NewReplacer(
			"https://git.example.com/team/private.git", f.Git.URL("example-private"), "change-me", password).Replace(example))
		DeferCleanup(func(ctx SpecContext) {
			for _, obj := range []client.Object{named("private"), secretOn(argocdNamespace, "private-repository")} {
				Expect(client.IgnoreNotFound(hub.Delete(ctx, obj))).To(Succeed())
			}
			Eventually(ctx, read(hub, named("private"))).Should(BeNil())
		})
		expectHealthy(ctx, "private")
		Expect(read(cluster["cluster1"], configMapOn("private", "from-git"))(ctx)).NotTo(BeNil())
	})

	It("an Application with a Secret and a ConfigMap beside it", func(ctx SpecContext) {
		const name = "guestbook-with-objects"
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/"+name+".yaml")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			for _, obj := range []client.Object{
				named(name), secretOn(argocdNamespace, "guestbook-database"), configMapOn(argocdNamespace, "guestbook-settings"),
			} {
				Expect(client.IgnoreNotFound(hub.Delete(ctx, obj))).To(Succeed())
			}
			Eventually(ctx, read(hub, named(name))).Should(BeNil())
		})
		expectHealthy(ctx, name)
		Eventually(ctx, read(cluster["cluster1"], secretOn("guestbook", "guestbook-database"))).Should(
			HaveField("Data", HaveKeyWithValue("password", []byte("change-me"))))
		Eventually(ctx, read(cluster["cluster1"], configMapOn("guestbook", "guestbook-settings"))).Should(
			HaveField("Data", HaveKeyWithValue("color", "blue")))
	})

	It("an ApplicationSet with a kustomize overlay", func(ctx SpecContext) {
		const set = "kustomize-guestbook-app-set"
		apps := func(ctx context.Context) ([]string, error) {
			list := &argocd.ApplicationList{}
			err := hub.List(ctx, list)
			var names []string
			for i := range list.Items {
				if owner, ok := list.Items[i].ApplicationSet(); ok && owner == set {
					names = append(names, list.Items[i].Name)
				}
			}
			return names, err
		}
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, set, "--wait=false")
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, apps).Should(BeEmpty())
		})
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/kustomize-guestbook-app-set.yaml")).To(Succeed())
		Eventually(ctx, apps).Should(HaveLen(3))
		names, err := apps(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, name := range names {
			expectHealthy(ctx, name)
		}
	})

	It("the examples for OpenShift GitOps are accepted", func(ctx SpecContext) {
		for _, plane := range []*fleet.ControlPlane{&f.Hub.ControlPlane, &f.Cluster("cluster1").ControlPlane} {
			namespaceOn(ctx, clientOf(plane), "openshift-gitops")
		}
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/openshift-gitops/hub.yaml")).To(Succeed())
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/openshift-gitops/guestbook-app-set.yaml")).To(Succeed())
		Expect(towline.Apply(ctx, f, &f.Cluster("cluster1").ControlPlane, "example/openshift-gitops/managed.yaml")).To(Succeed())
	})
})
