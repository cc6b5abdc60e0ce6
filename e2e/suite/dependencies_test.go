package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// privateRepo and unusedRepo are repositories that require an account. No Application uses unusedRepo.
const (
	privateRepo = "private"
	unusedRepo  = "unused"
)

// The passwords of the repositories. They must not be visible anywhere.
const (
	firstPassword  = "first-password-of-the-fleet"
	secondPassword = "second-password-of-the-fleet"
)

// webSpec returns the spec of an Application in a project, for the manifests in the root folder of a repository.
func webSpec(project, repo, namespace string) string {
	var out map[string]any
	Expect(json.Unmarshal([]byte(spec(".", namespace)), &out)).To(Succeed())
	out["project"], out["source"].(map[string]any)["repoURL"] = project, f.Git.URL(repo)
	data, err := json.Marshal(out)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// repoSecret returns the Secret of the hub's Argo CD for a repository of the fleet.
func repoSecret(repo, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: argocdNamespace, Name: "repo-" + repo, Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeRepository},
		},
		Data: map[string][]byte{"url": []byte(f.Git.URL(repo)), "username": []byte("fleet"), "password": []byte(password)},
	}
}

// change patches an object with a merge patch.
func change(ctx context.Context, c client.Client, obj client.Object, patch string) {
	GinkgoHelper()
	Expect(c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// secretOn and configMapOn return keys of objects on a cluster, to read.
func secretOn(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func configMapOn(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func projectNamed(name string) *argocd.AppProject {
	return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: name}}
}

var _ = Describe("What an Application needs on its cluster", Ordered, usesRights, func() {
	const on = "cluster1"
	secret, unused := secretOn(argocdNamespace, "repo-"+privateRepo), secretOn(argocdNamespace, "repo-"+unusedRepo)
	there := secretOn(argocdNamespace, dependency.CredentialName("repo-"+privateRepo))
	project := projectNamed("web")
	var app *argocd.Application

	BeforeAll(func(ctx SpecContext) {
		content := func(name string) fs.FS {
			manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
			return fstest.MapFS{"config.yaml": {Data: []byte(manifest), Mode: 0o644}}
		}
		for _, repo := range []string{privateRepo, unusedRepo} {
			Expect(f.Git.Create(ctx, repo, content("from-git"))).To(Succeed())
			Expect(f.Git.Protect(repo, "fleet", firstPassword)).To(Succeed())
		}
		project.Spec.SourceRepos = []string{f.Git.URL(privateRepo)}
		project.Spec.SourceNamespaces = []string{"team-a"}
		project.Spec.Destinations = []argocd.ProjectDestination{{Name: on, Namespace: "web*"}, {Name: "cluster2", Namespace: "elsewhere"}}
		project.Spec.Raw = json.RawMessage(fmt.Sprintf(`{"sourceRepos":[%q],"sourceNamespaces":["team-a"],`+
			`"destinations":[{"name":%q,"namespace":"web*"},{"name":"cluster2","namespace":"elsewhere"}],`+
			`"clusterResourceWhitelist":[{"group":"","kind":"Namespace"}]}`, f.Git.URL(privateRepo), on))
		Expect(hub.Create(ctx, project)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			for _, obj := range []client.Object{
				project, secret, unused,
				secretOn(argocdNamespace, "mine"), secretOn(argocdNamespace, "db"), configMapOn(argocdNamespace, "settings"),
			} {
				Expect(client.IgnoreNotFound(hub.Delete(ctx, obj))).To(Succeed())
			}
		})
		for _, repo := range []string{privateRepo, unusedRepo} {
			Expect(hub.Create(ctx, repoSecret(repo, firstPassword))).To(Succeed())
		}
		change(ctx, hub, unused, `{"metadata":{"annotations":{"apps.open-cluster-management.io/propagate":"true"}}}`)
		app = fixture.Application("web").Cluster(on).Spec(webSpec("web", privateRepo, "web")).Finalizers(apis.FinalizerResources).Obj()
		app.UID = ""
		Expect(hub.Create(ctx, app)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(hub.Delete(ctx, app))).To(Succeed())
			Eventually(ctx, read(hub, app)).Should(BeNil())
		})
	})

	It("sends the AppProject along, and no credential without consent", func(ctx SpecContext) {
		Eventually(ctx, read(cluster[on], project)).Should(HaveField("Spec.Destinations",
			Equal([]argocd.ProjectDestination{{Server: apis.InClusterServer, Namespace: "web*"}})))
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return conditionMessage(ctx, app.Name, "ComparisonError")
		}).Should(ContainSubstring("authentication required"))
		Expect(read(cluster[on], there)(ctx)).To(BeNil())
		expectNoCondition(ctx, app.Name, "InvalidSpecError")
	})

	It("makes an app of a private repository Healthy once its credential may travel", func(ctx SpecContext) {
		began := time.Now()
		change(ctx, hub, secret, `{"metadata":{"annotations":{"apps.open-cluster-management.io/propagate":"true"}}}`)
		Eventually(ctx, read(cluster[on], there)).ShouldNot(BeNil())
		AddReportEntry(fmt.Sprintf("the credential is on the cluster after %.2f s", time.Since(began).Seconds()))
		expectHealthy(ctx, app.Name)
		AddReportEntry(fmt.Sprintf("the app is Healthy after %.2f s", time.Since(began).Seconds()))
		Expect(read(cluster[on], configMapOn("web", "from-git"))(ctx)).NotTo(BeNil())
		Expect(read(cluster["cluster2"], there)(ctx)).To(BeNil())
	})

	It("follows a rotation", func(ctx SpecContext) {
		Expect(f.Git.Protect(privateRepo, "fleet", secondPassword)).To(Succeed())
		began := time.Now()
		data, err := json.Marshal(map[string]any{"data": map[string][]byte{"password": []byte(secondPassword)}})
		Expect(err).NotTo(HaveOccurred())
		change(ctx, hub, secret, string(data))
		Eventually(ctx, read(cluster[on], there)).WithPolling(20 * time.Millisecond).Should(
			HaveField("Data", HaveKeyWithValue("password", []byte(secondPassword))))
		AddReportEntry(fmt.Sprintf("the rotated credential is on the cluster after %.2f s", time.Since(began).Seconds()))
		sha, err := f.Git.Commit(ctx, privateRepo, map[string]string{"more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"}, "More")
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func(ctx context.Context) (*argocd.Application, error) { // the cluster's Argo CD may use the old password a moment longer
			now, err := read(cluster[on], named(app.Name))(ctx)
			if err != nil {
				return nil, err
			}
			if now.Refresh() == "" && (now.Status.Sync == nil || now.Status.Sync.Revision != sha) {
				hardRefresh(ctx, on, app.Name)
			}
			return read(hub, app)(ctx)
		}).Should(HaveField("Status.Sync.Revision", sha))
	})

	It("brings a change of the AppProject", func(ctx SpecContext) {
		change(ctx, hub, project, `{"spec":{"sourceRepos":["https://nothing.example.com"]}}`)
		Eventually(ctx, read(cluster[on], project)).Should(HaveField("Spec.SourceRepos", Equal([]string{"https://nothing.example.com"})))
		change(ctx, hub, project, fmt.Sprintf(`{"spec":{"sourceRepos":[%q]}}`, f.Git.URL(privateRepo)))
		Eventually(ctx, read(cluster[on], project)).Should(HaveField("Spec.SourceRepos", Equal([]string{f.Git.URL(privateRepo)})))
		expectHealthy(ctx, app.Name)
	})

	It("sends a credential to no cluster that only claims to use it", func(ctx SpecContext) {
		agent := hubAs(on)
		own := workOf(app)
		raw, err := json.Marshal(fixture.Application("forged").Spec(webSpec("web", unusedRepo, "web")).Obj())
		Expect(err).NotTo(HaveOccurred())
		patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/workload/manifests/-", "value": json.RawMessage(raw)}})
		Expect(err).NotTo(HaveOccurred())
		// The admission policies refuse the patch. Without the policies, the outcome is the same
		// (controllers/envtest/dependencies_test.go).
		Expect(agent.Patch(ctx, own, client.RawPatch(types.JSONPatchType, patch))).To(MatchError(ContainSubstring("may not change the spec")))
		Consistently(ctx, func(ctx context.Context) ([]string, error) {
			works := &workv1.ManifestWorkList{}
			err := hub.List(ctx, works, client.InNamespace(on))
			var names []string
			for i := range works.Items {
				if strings.Contains(works.Items[i].Name, unusedRepo) {
					names = append(names, works.Items[i].Name)
				}
			}
			return names, err
		}).WithTimeout(2 * time.Second).Should(BeEmpty())
	})

	It("sends along the objects that the Application names, and overwrites no object", func(ctx SpecContext) {
		namespaceOn(ctx, cluster[on], "web")
		mine := secretOn("web", "mine")
		mine.Data = map[string][]byte{"key": []byte("the cluster's own")}
		Expect(cluster[on].Create(ctx, mine)).To(Succeed())
		for _, name := range []string{"mine", "db"} {
			s := secretOn(argocdNamespace, name)
			s.Annotations, s.Data = map[string]string{apis.AnnotationPropagate: "true"}, map[string][]byte{"key": []byte("the hub's")}
			Expect(hub.Create(ctx, s)).To(Succeed())
		}
		settings := configMapOn(argocdNamespace, "settings")
		settings.Annotations, settings.Data = map[string]string{apis.AnnotationPropagate: "true"}, map[string]string{"color": "blue"}
		Expect(hub.Create(ctx, settings)).To(Succeed())

		change(ctx, hub, app, `{"metadata":{"annotations":{"apps.open-cluster-management.io/with":"secret/db,secret/mine,configmap/settings"}}}`)
		Eventually(ctx, read(cluster[on], secretOn("web", "db"))).Should(HaveField("Data", HaveKeyWithValue("key", []byte("the hub's"))))
		Eventually(ctx, read(cluster[on], configMapOn("web", "settings"))).Should(HaveField("Data", HaveKeyWithValue("color", "blue")))
		expectCondition(ctx, app.Name, apis.ConditionDependencyError, dependency.ObjectsKey(work.Key(app)).String())
		Expect(read(cluster[on], mine)(ctx)).To(HaveField("Data", HaveKeyWithValue("key", []byte("the cluster's own"))))

		change(ctx, hub, app, `{"metadata":{"annotations":{"apps.open-cluster-management.io/with":"secret/db,configmap/settings"}}}`)
		expectNoCondition(ctx, app.Name, apis.ConditionDependencyError)
		change(ctx, hub, settings, `{"data":{"color":"green"}}`)
		Eventually(ctx, read(cluster[on], configMapOn("web", "settings"))).Should(HaveField("Data", HaveKeyWithValue("color", "green")))
		Expect(read(cluster[on], mine)(ctx)).To(HaveField("Data", HaveKeyWithValue("key", []byte("the cluster's own"))))
	})

	It("leaves a released Application all dependencies, and takes the dependencies back", func(ctx SpecContext) {
		used := map[string]client.Object{
			"credential": there, "Secret": secretOn("web", "db"), "ConfigMap": configMapOn("web", "settings"), "AppProject": project,
		}
		before := map[string]types.UID{}
		for what, obj := range used {
			Expect(cluster[on].Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed(), what)
			before[what] = obj.GetUID()
		}
		change(ctx, hub, app, annotationPatch(apis.AnnotationRelease, "true"))
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		dependencies := func(ctx context.Context) ([]string, error) {
			works := &workv1.ManifestWorkList{}
			err := hub.List(ctx, works, client.InNamespace(on), client.HasLabels{apis.LabelDependency})
			var names []string
			for i := range works.Items {
				if strings.Contains(string(works.Items[i].Spec.Workload.Manifests[0].Raw), "web") || strings.Contains(works.Items[i].Name, privateRepo) {
					names = append(names, works.Items[i].Name)
				}
			}
			return names, err
		}
		Eventually(ctx, dependencies).Should(BeEmpty())
		for what, obj := range used {
			Expect(cluster[on].Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed(), what)
			Expect(obj.GetUID()).To(Equal(before[what]), what)
			Expect(obj.GetOwnerReferences()).To(BeEmpty(), what)
		}
		sha, err := f.Git.Commit(ctx, privateRepo, map[string]string{"later.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: later}\n"}, "Later")
		Expect(err).NotTo(HaveOccurred())
		change(ctx, cluster[on], named(app.Name), `{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"hard"}}}`)
		Eventually(ctx, read(cluster[on], named(app.Name))).Should(HaveField("Status.Sync.Revision", sha), "it needs its credential for that")

		change(ctx, hub, app, annotationPatch(apis.AnnotationRelease, ""))
		Eventually(ctx, dependencies).Should(HaveLen(3))
		expectHealthy(ctx, app.Name)
		for what, obj := range used {
			Expect(cluster[on].Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed(), what)
			Expect(obj.GetUID()).To(Equal(before[what]), what)
		}
		for _, obj := range []client.Object{there, secretOn("web", "db")} { // the works own both again
			Eventually(ctx, read(cluster[on], obj)).Should(WithTransform(client.Object.GetOwnerReferences, HaveLen(1)))
		}
	})

	It("removes the dependencies with the Application, except dependencies that others may use", func(ctx SpecContext) {
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		for _, gone := range []client.Object{there, secretOn("web", "db")} {
			Eventually(ctx, read(cluster[on], gone)).Should(BeNil())
		}
		Eventually(ctx, read(cluster[on], configMapOn("web", "settings"))).Should(BeNil())
		Expect(read(cluster[on], secretOn("web", "mine"))(ctx)).NotTo(BeNil())
		key := dependency.ProjectKey(on, "web")
		Eventually(ctx, read(hub, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})).Should(BeNil())
		left, err := read(cluster[on], project)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(left.Spec.SourceRepos).To(Equal([]string{f.Git.URL(privateRepo)}))
		Expect(left.Spec.SourceNamespaces).To(BeEmpty(), "rights that the hub would not take back any more")
	})

	It("shows no content of Secrets", func(ctx SpecContext) {
		events, err := f.Hub.Kubectl(ctx, "get", "events", "--all-namespaces", "--output=yaml")
		Expect(err).NotTo(HaveOccurred())
		apps, err := f.Hub.Kubectl(ctx, "get", "applications.argoproj.io", "--all-namespaces", "--output=yaml")
		Expect(err).NotTo(HaveOccurred())
		log, err := os.ReadFile(tow.Log())
		Expect(err).NotTo(HaveOccurred())
		for _, text := range []string{string(log), events, apps} {
			Expect(text).NotTo(BeEmpty())
			Expect(text).NotTo(ContainSubstring("password-of-the-fleet"))
		}
	})
})

// hubAs returns a client for the hub with the rights of a cluster's agent.
func hubAs(name string) client.Client {
	GinkgoHelper()
	config := rest.CopyConfig(f.Hub.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:open-cluster-management:" + name + ":agent",
		Groups: []string{
			"system:open-cluster-management:" + name, "system:open-cluster-management:managed-clusters", "system:authenticated",
		},
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}
