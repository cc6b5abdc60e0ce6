package suite

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
	"github.com/towline-io/towline/pkg/work"
)

var _ = Describe("The hub's argocd-server, for clusters whose agents send managed resources", Ordered, Serial, inEtcd, func() {
	const repo, inGit, onCluster = "managed", "secret-in-git", "secret-on-cluster"
	on := []string{"cluster1", "cluster2"}
	redis := argocache.NewRedis(argocache.Address{})
	var argo func(ctx context.Context, args ...string) string

	// entry reads the entry of a hub Application.
	entry := func(name string) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) {
			return redis.Get(ctx, tree.ManagedResourcesKey(types.NamespacedName{Namespace: argocdNamespace, Name: name}, argocdNamespace, true))
		}
	}
	// asking returns a function that runs argocd again.
	asking := func(args ...string) func(context.Context) string {
		return func(ctx context.Context) string { return argo(ctx, append([]string{"app"}, args...)...) }
	}
	// available matches the line of kubectl towline why about an existing entry.
	const available = `differences +available, written \S+ ago`
	plugin := ""
	// told returns a function that runs kubectl towline why.
	told := func(name string) func(context.Context) string {
		return func(ctx context.Context) string {
			out, _, err := ran(ctx, plugin, f.Hub.Kubeconfig(), "why", "-n", argocdNamespace, name)
			Expect(err).NotTo(HaveOccurred())
			return out
		}
	}
	refuseHub := func(ctx context.Context, value string) {
		GinkgoHelper()
		_, err := f.Hub.Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", argocdNamespace, "--type", "merge",
			"--patch", `{"data":{"cluster.inClusterEnabled":`+value+`}}`)
		Expect(err).NotTo(HaveOccurred())
	}
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	noSecret := Not(Or(ContainSubstring(inGit), ContainSubstring(encoded(inGit)), ContainSubstring(onCluster), ContainSubstring(encoded(onCluster))))

	BeforeAll(func(ctx SpecContext) {
		redis = argocache.NewRedis(argocache.Address{HostPort: f.Hub.RedisAddress()})
		manifest := "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {password: " + inGit + "}\n"
		Expect(f.Git.Create(ctx, repo, fstest.MapFS{
			"config.yaml": {Data: []byte(configOf("0")), Mode: 0o644}, "secret.yaml": {Data: []byte(manifest), Mode: 0o644},
		})).To(Succeed())
		mode := "guarded"
		if f.Hub.ArgoCDVersion() == "2.14" {
			mode = "always"
		} else {
			refuseHub(ctx, `"false"`)
			DeferCleanup(refuseHub, "null")
		}
		address := func(ctx context.Context, value string) {
			GinkgoHelper()
			_, err := f.Hub.Kubectl(ctx, "patch", "configmap", "argocd-cmd-params-cm", "--namespace", argocdNamespace, "--type", "merge",
				"--patch", `{"data":{"redis.server":`+value+`}}`)
			Expect(err).NotTo(HaveOccurred())
		}
		address(ctx, fmt.Sprintf("%q", f.Hub.RedisAddress()))
		DeferCleanup(address, "null")
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/source/managed-resources/role.yaml")).To(Succeed())
		server, err := towline.RunSource(ctx, f, "--managed-resources="+mode)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Stop)
		installAddOn(ctx, "agent-managed-resources")
		for _, on := range on {
			cmdParams(ctx, on, f.Cluster(on).RedisAddress())
			agent, err := towline.RunAgent(ctx, f, binary, on, "managed-"+on)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(agent.Stop)
		}
		argo = login(ctx)
		plugin, err = towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
	})

	// through makes an Application whose drift stays.
	through := func(ctx context.Context, name, on string) {
		GinkgoHelper()
		standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
			b.Spec(strings.Replace(sourceSpec(name, from(f.Git.URL(repo), ".")), `"selfHeal":true`, `"selfHeal":false`, 1))
		})
		expectHealthy(ctx, name)
	}

	It("shows manifests and differences, and no Secret", func(ctx SpecContext) {
		for _, on := range on {
			name := "managed-" + on
			By("showing the manifests of an Application on " + on)
			through(ctx, name, on)
			for _, source := range []string{"live", "git"} {
				show := asking("manifests", name, "--source", source)
				Eventually(ctx, show).Should(And(ContainSubstring(`value: "0"`), ContainSubstring("kind: Secret"), ContainSubstring("++++++++")))
				text := show(ctx)
				Expect(text).To(noSecret)
				AddReportEntry("argocd app manifests "+name+" --source "+source, text)
			}
			Eventually(ctx, asking("diff", name)).Should(BeEmpty())

			By("showing a drift")
			_, err := f.Cluster(on).Kubectl(ctx, "patch", "configmap", "config", "--namespace", name, "--type", "merge",
				"--patch", `{"data":{"value":"drifted"}}`)
			Expect(err).NotTo(HaveOccurred())
			_, err = f.Cluster(on).Kubectl(ctx, "patch", "secret", "secret", "--namespace", name, "--type", "merge",
				"--patch", `{"data":{"password":"`+encoded(onCluster)+`"}}`)
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, asking("diff", name)).Should(
				And(ContainSubstring(`<   value: drifted`), ContainSubstring(`>   value: "0"`), ContainSubstring("exit status 1")))
			diff := argo(ctx, "app", "diff", name)
			Expect(diff).To(noSecret)
			AddReportEntry("argocd app diff "+name, diff)
			Expect(string(request(ctx, http.MethodGet, "/api/v1/applications/"+name+"/managed-resources", token(ctx), ""))).To(
				And(ContainSubstring("predictedLiveState"), ContainSubstring("drifted"), noSecret))

			By("leaving live resources to a way to the cluster")
			commands := [][]string{
				{"actions", "list", name},
				{"delete-resource", name, "--kind", "ConfigMap", "--resource-name", "config"},
				{"patch-resource", name, "--kind", "ConfigMap", "--resource-name", "config", "--patch", "{}"},
			}
			if f.Hub.ArgoCDVersion() != "2.14" { // the CLI lacks the command
				commands = append(commands, []string{"get-resource", name, "--kind", "ConfigMap"})
			}
			for _, args := range commands {
				// Before the tree of the Application has arrived, argocd-server does not find the tree.
				Eventually(ctx, asking(args...)).Should(ContainSubstring("not found as part of application"), strings.Join(args, " "))
			}
		}
	})

	It("names the address of the destination, if a command needs the cluster", func(ctx SpecContext) {
		needArgoCD3("an argocd-server that may not use the hub")
		const name, address = "managed-elsewhere", "https://cluster1.pull.invalid"
		through(ctx, name, "cluster1")
		Eventually(ctx, asking("diff", name)).Should(BeEmpty())
		for _, args := range [][]string{
			{"logs", name}, {"diff", name, "--server-side-diff"}, {"diff", name, "--revision", "main"}, {"manifests", name, "--revision", "main"},
		} {
			Expect(asking(args...)(ctx)).To(ContainSubstring(`cluster \"https://kubernetes.default.svc\" is disabled`), strings.Join(args, " "))
		}

		apply(ctx, `{apiVersion: v1, kind: Secret, metadata: {name: elsewhere, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster}},
			stringData: {name: elsewhere, server: "`+address+`", config: "{}"}}`)
		DeferCleanup(func(ctx context.Context) {
			_, err := f.Hub.Kubectl(ctx, "delete", "secret", "elsewhere", "--namespace", argocdNamespace)
			Expect(err).NotTo(HaveOccurred())
		})
		patchHub(ctx, name, `{"spec":{"destination":{"server":null,"name":"elsewhere"}}}`)
		Eventually(ctx, asking("diff", name, "--revision", "main")).Should(ContainSubstring(`Get \"` + address))
		Expect(argo(ctx, "app", "diff", name, "--server-side-diff")).To(ContainSubstring(`Get \"` + address))
		logs := argo(ctx, "app", "logs", name)
		AddReportEntry("argocd app logs, with a destination that exists, and no Pod in the tree", logs)
		Expect(logs).To(ContainSubstring("exit status"))
		Expect(asking("diff", name)(ctx)).To(BeEmpty())
		Expect(asking("get-resource", name, "--kind", "ConfigMap")(ctx)).To(ContainSubstring("not found as part of application"))
	})

	It("does not let a cluster write for another cluster", func(ctx SpecContext) {
		const name = "managed-others"
		through(ctx, name, "cluster1")
		Eventually(ctx, entry(name)).ShouldNot(BeNil())
		before, err := entry(name)(ctx)
		Expect(err).NotTo(HaveOccurred())
		app, err := read(hub, named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		of := work.Key(app)
		for _, namespace := range on {
			for _, method := range []string{http.MethodPut, http.MethodDelete} {
				code, text := tellHub(ctx, "cluster2", method, managedresources.Path(namespace, of.Name))
				absent, textAbsent := tellHub(ctx, "cluster2", method, managedresources.Path(namespace, "absent-00000"))
				AddReportEntry(fmt.Sprintf("cluster2, %s in the namespace %s: %d %s", method, namespace, code, text))
				Expect(code).To(BeElementOf(http.StatusForbidden, http.StatusNotFound))
				Expect(code).To(Equal(absent))
				Expect(strings.ReplaceAll(text, of.Name, "NAME")).To(Equal(strings.ReplaceAll(textAbsent, "absent-00000", "NAME")))
			}
		}
		Expect(entry(name)(ctx)).To(Equal(before))
		code, text := tellHub(ctx, "cluster1", http.MethodPut, managedresources.Path("cluster1", of.Name))
		Expect(code).To(Equal(http.StatusNoContent), text)
		Expect(entry(name)(ctx)).NotTo(Equal(before), "the cluster itself may write")
	})

	It("is explained by kubectl towline why", func(ctx SpecContext) {
		const name, large = "managed-told", "managed-large"
		through(ctx, name, "cluster1")
		Eventually(ctx, told(name)).Should(MatchRegexp(available))
		AddReportEntry("kubectl towline why, with differences", told(name)(ctx))

		By("refusing an Application over a limit")
		Expect(f.Git.Create(ctx, large, incompressible(5, 700<<10))).To(Succeed())
		standalone(ctx, large, "cluster2", func(b *fixture.ApplicationBuilder) {
			b.Spec(strings.Replace(sourceSpec(large, from(f.Git.URL(large), ".")), `"automated":{"prune":true,"selfHeal":true},`, "", 1))
		})
		Eventually(ctx, told(large)).Should(And(ContainSubstring("not available: the Application has more than 5,000 resources"),
			ContainSubstring("reason  TooLarge"), ContainSubstring("the author of the Application")))
		AddReportEntry("kubectl towline why, over a limit", told(large)(ctx))
		Expect(asking("diff", large)(ctx)).To(ContainSubstring("cache: key is missing"))

		By("keeping the answer from the agents")
		app, err := read(hub, named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		path := managedresources.Path("cluster1", work.Key(app).Name)
		for _, agentOf := range on {
			code, text := requestAs(ctx, agentOf, http.MethodGet, path, http.NoBody)
			Expect(code).To(Equal(http.StatusForbidden), text)
		}
		code, text := requestAs(ctx, "cluster2", http.MethodDelete, path+"?"+managedresources.Because+"=TooLarge", http.NoBody)
		Expect(code).To(BeElementOf(http.StatusForbidden, http.StatusNotFound), text)
		Expect(told(name)(ctx)).To(MatchRegexp(available))
	})

	It("loses the entry when the Application moves, and when it is released", func(ctx SpecContext) {
		const name, released = "managed-moved", "managed-released"
		through(ctx, name, "cluster1")
		through(ctx, released, "cluster2")
		Eventually(ctx, entry(name)).ShouldNot(BeNil())
		Eventually(ctx, entry(released)).ShouldNot(BeNil())
		first := uidIn(argo(ctx, "app", "manifests", name, "--source", "live"))
		patchHub(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"cluster2"}}}`, apis.AnnotationCluster))
		patchHub(ctx, released, annotationPatch(apis.AnnotationRelease, "true"))
		Eventually(ctx, entry(released)).Should(BeNil())
		Consistently(ctx, entry(released)).WithTimeout(treePause).Should(BeNil())
		Eventually(ctx, func(ctx context.Context) string {
			return uidIn(argo(ctx, "app", "manifests", name, "--source", "live"))
		}).Should(
			And(Not(BeEmpty()), Not(Equal(first))))
	})

	It("loses all entries while argocd-server may use the hub", func(ctx SpecContext) {
		needArgoCD3("an argocd-server that may not use the hub")
		const name = "managed-guarded"
		through(ctx, name, "cluster1")
		Eventually(ctx, entry(name)).ShouldNot(BeNil())
		refuseHub(ctx, `"true"`)
		Eventually(ctx, entry(name)).Should(BeNil())
		Expect(argo(ctx, "app", "diff", name)).To(ContainSubstring("cache: key is missing"))
		Expect(told(name)(ctx)).To(And(ContainSubstring("not available: the ConfigMap argocd-cm"), ContainSubstring("reason  Closed")))
		Expect(entry(name)(ctx)).To(BeNil(), "the agent does not bring the entry back")
		refuseHub(ctx, `"false"`)
		Eventually(ctx, func(ctx context.Context) ([]byte, error) {
			_ = argo(ctx, "app", "diff", name) // asks for a refresh
			return entry(name)(ctx)
		}).ShouldNot(BeNil())
	})
})

// incompressible returns ConfigMaps of random content.
func incompressible(count, bytes int) fstest.MapFS {
	out, random := fstest.MapFS{}, rand.NewChaCha8([32]byte{1})
	for i := range count {
		content := make([]byte, bytes*3/4)
		_, err := random.Read(content)
		Expect(err).NotTo(HaveOccurred())
		manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large-%d}\ndata: {value: %s}\n",
			i, base64.StdEncoding.EncodeToString(content))
		out[fmt.Sprintf("large-%d.yaml", i)] = &fstest.MapFile{Data: []byte(manifest), Mode: 0o644}
	}
	return out
}

// uidIn returns the first UID in a text; empty for none.
func uidIn(text string) string {
	_, after, _ := strings.Cut(text, " uid: ")
	uid, _, _ := strings.Cut(after, "\n")
	return uid
}

// tellHub sends an empty list of managed resources to the hub, with the identity of a cluster's agent.
func tellHub(ctx context.Context, agentOf, method, path string) (int, string) {
	GinkgoHelper()
	return requestAs(ctx, agentOf, method, path, bytes.NewReader(tree.Compress([]byte("[]"))))
}
