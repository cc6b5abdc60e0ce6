package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/source"
)

// callWebhook tells the hub's argocd-server about a commit on the branch main of a repository, as GitHub's webhook does.
func callWebhook(ctx context.Context, repo, sha string, files ...string) {
	GinkgoHelper()
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "after": sha, "before": strings.Repeat("0", 40),
		"repository": map[string]any{"html_url": strings.TrimSuffix(repo, ".git"), "default_branch": "main"},
		"commits":    []any{map[string]any{"id": sha, "modified": files, "added": []string{}, "removed": []string{}}},
	})
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Hub.ArgoCDURL()+"/api/webhook", bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "push")
	resp, err := http.DefaultClient.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(resp.StatusCode).To(Equal(http.StatusOK), string(text))
}

// sourceSpec returns the spec of an Application with sources, which deploys into a namespace.
func sourceSpec(namespace string, sources ...map[string]any) string {
	GinkgoHelper()
	var out map[string]any
	Expect(json.Unmarshal([]byte(spec(".", namespace)), &out)).To(Succeed())
	out["source"] = sources[0]
	if len(sources) > 1 {
		delete(out, "source")
		out["sources"] = sources
	}
	data, err := json.Marshal(out)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// withoutAutomation returns the spec without automated syncs.
func withoutAutomation(spec string) string {
	GinkgoHelper()
	var out map[string]any
	Expect(json.Unmarshal([]byte(spec), &out)).To(Succeed())
	unstructured.RemoveNestedField(out, "syncPolicy", "automated")
	data, err := json.Marshal(out)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// from returns a source: a folder on the branch main of a repository.
func from(repo, path string) map[string]any {
	return map[string]any{"repoURL": repo, "path": path, "targetRevision": "main"}
}

// configFile is the path of the ConfigMap in configContent.
const configFile = "plain/config.yaml"

// configContent returns the content of a repository: a ConfigMap with a value.
func configContent(value string) fstest.MapFS {
	return fstest.MapFS{configFile: {Data: []byte(configOf(value)), Mode: 0o644}}
}

// configOf returns the ConfigMap with a value.
func configOf(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {value: \"" + value + "\"}\n"
}

// setValue commits a value of configContent on the branch main, and returns the commit.
func setValue(ctx context.Context, repo, value string) string {
	GinkgoHelper()
	sha, err := f.Git.Commit(ctx, repo, map[string]string{configFile: configOf(value)}, "Set "+value)
	Expect(err).NotTo(HaveOccurred())
	return sha
}

// through makes an Application that reads through the hub.
func through(ctx context.Context, name, on string, sources ...map[string]any) {
	GinkgoHelper()
	standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
		b.Spec(sourceSpec(name, sources...)).Annotation(apis.AnnotationSource, apis.SourceHub)
	})
}

// subscribedThroughHub returns the ApplicationSet of rollout for its first clusters. Its Applications deploy configContent, read
// through the hub, and tell the webhook sink about each sync.
func subscribedThroughHub(rollout string, clusters int) string {
	GinkgoHelper()
	var set map[string]any
	Expect(yaml.Unmarshal([]byte(rollout), &set)).To(Succeed())
	generators, _, err := unstructured.NestedSlice(set, "spec", "generators")
	Expect(err).NotTo(HaveOccurred())
	list := generators[0].(map[string]any)["list"].(map[string]any)
	list["elements"] = list["elements"].([]any)[:clusters]
	Expect(unstructured.SetNestedSlice(set, generators, "spec", "generators")).To(Succeed())
	for key, value := range map[string]string{apis.AnnotationSource: apis.SourceHub, fmt.Sprintf(subscribe, "on-sync-succeeded"): ""} {
		Expect(unstructured.SetNestedField(set, value, "spec", "template", "metadata", "annotations", key)).To(Succeed())
	}
	Expect(unstructured.SetNestedField(set, "plain", "spec", "template", "spec", "source", "path")).To(Succeed())
	out, err := yaml.Marshal(set)
	Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// expectThrough expects that an Application on a cluster names the agent's address in place of the address in Git.
func expectThrough(ctx context.Context, on, door, name, repo string) {
	GinkgoHelper()
	Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Spec.Raw", And(
		ContainSubstring(source.At("https://"+door, argocd.DefaultProject, repo)), Not(ContainSubstring(repo)))))
}

// compares lets the cluster compare the Application until the hub shows a comparison with a commit. towline-source may repeat the
// references of some seconds before.
func compares(ctx context.Context, on, name, sha string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		hardRefresh(ctx, on, name)
		app, err := read(hub, named(name))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(app.Status.Sync.Revision).To(Equal(sha))
	}).WithPolling(2 * time.Second).Should(Succeed())
}

// follows expects that the Application of configContent reaches a commit and its value.
func follows(ctx context.Context, on, name, sha, value string) {
	GinkgoHelper()
	compares(ctx, on, name, sha)
	Eventually(ctx, read(cluster[on], configMapOn(name, "config"))).Should(HaveField("Data", HaveKeyWithValue("value", value)))
	expectNoCondition(ctx, name, "ComparisonError")
}

// refusedRead lets the cluster compare the Application until the condition appears, and returns the message. A look at the
// Git server a moment ago counts for towline-source.
func refusedRead(ctx context.Context, on, name, says string) (message string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (_ string, err error) {
		hardRefresh(ctx, on, name)
		message, err = conditionMessage(ctx, name, "ComparisonError")
		return message, err
	}).WithPolling(2 * time.Second).Should(ContainSubstring(says))
	return message
}

// useHelm puts Helm into the folder of the fleet's programs, for Argo CD's repo servers.
func useHelm(ctx context.Context) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile="+filepath.Join(towline.Root(), ".ci", "tools", "helm4", "go.mod"), "-n", "helm")
	cmd.Dir = towline.Root()
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred())
	_ = os.Remove(f.Program("helm"))
	Expect(os.Symlink(strings.TrimSpace(string(out)), f.Program("helm"))).To(Succeed())
}

// serveRepositories runs a Git server over HTTPS, and towline-source with the account of the Git server, until the specs end.
// The clusters have the add-on of the agent.
func serveRepositories(ctx context.Context) (*secureGit, *fleet.Process) {
	GinkgoHelper()
	git := newSecureGit()
	git.trustOnHub(ctx, hubPassword)
	DeferCleanup(func(ctx context.Context) {
		Expect(hub.Delete(ctx, secretOn(argocdNamespace, "secure-git"))).To(Succeed())
	})
	server, err := towline.RunSource(ctx, f)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		_, err := f.Hub.Kubectl(ctx, "delete", "apiservice", source.APIService) // without a server, the hub could delete no namespace
		Expect(err).NotTo(HaveOccurred())
		server.Stop()
	})
	installAddOn(ctx, "agent-source")
	return git, server
}

// openDoor runs the agent of a cluster with its door, until the specs end.
func openDoor(ctx context.Context, on string) (agent *towline.Agent, address string) {
	GinkgoHelper()
	DeferCleanup(func(ctx context.Context) {
		_, err := f.Hub.Kubectl(ctx, "annotate", "namespace", on, apis.AnnotationSourceAddress+"-")
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Cluster(on).MountCertificates(nil)).To(Succeed())
	})
	agent, address, err := towline.OpenDoor(ctx, f, binary, on, &f.Cluster(on).ControlPlane)
	if agent != nil {
		DeferCleanup(agent.Stop)
	}
	Expect(err).NotTo(HaveOccurred())
	return agent, address
}

// isolate moves clusters into network namespaces, until the specs end. There, the programs of a cluster reach the hub's API
// server, and the given addresses. Without the rights of root, isolate leaves the clusters in the network of the machine.
func isolate(ctx context.Context, on []string, reach ...string) {
	GinkgoHelper()
	if os.Geteuid() != 0 {
		AddReportEntry(fmt.Sprintf("without the rights of root, %v stay in the network of the Git servers: "+
			"the specs do not show that the clusters work without a way to Git", on))
		return
	}
	backs := make([]func(context.Context) error, len(on))
	var group errgroup.Group
	for i, on := range on {
		group.Go(func() (err error) {
			backs[i], err = f.Cluster(on).Isolate(ctx, reach...)
			return err
		})
	}
	err := group.Wait()
	DeferCleanup(func(ctx context.Context) {
		var group errgroup.Group
		for _, back := range backs {
			if back != nil {
				group.Go(func() error { return back(ctx) })
			}
		}
		Expect(group.Wait()).To(Succeed())
	})
	Expect(err).NotTo(HaveOccurred())
}

// forget restarts the repo server of a cluster without its clones and without the answers in Redis. The repo server then has
// to fetch every repository again.
func forget(ctx context.Context, on string) {
	GinkgoHelper()
	Expect(f.Cluster(on).EmptyRepoServer(ctx)).To(Succeed())
	redis := argocache.NewRedis(argocache.Address{HostPort: f.Cluster(on).RedisAddress()})
	for _, answers := range []string{"mfst|*", "git-refs|*"} {
		Expect(redis.EachKey(ctx, answers, func(key string) error { return redis.RemoveAll(ctx, key) })).To(Succeed())
	}
}

// clonesOn returns a function that reads the addresses of the repositories that the repo server of a cluster has cloned.
func clonesOn(on string) func() (string, error) {
	return func() (string, error) {
		addresses, err := f.Cluster(on).Clones()
		return strings.Join(addresses, " "), err
	}
}

// operationOn returns a function that reads the requested operation of an Application on a cluster; empty for none.
func operationOn(on, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		app, err := read(cluster[on], named(name))(ctx)
		if err != nil || app == nil || app.Operation == nil {
			return "", err
		}
		return string(app.Operation.Raw), nil
	}
}

// askHub gets a path of the hub with the identity of a cluster's agent, and returns the code and the text.
func askHub(ctx context.Context, agentOf, path string) (int, string) {
	GinkgoHelper()
	return requestAs(ctx, agentOf, http.MethodGet, path, http.NoBody)
}

// requestAs sends a request to the hub with the identity of a cluster's agent, and returns the code and the text.
func requestAs(ctx context.Context, agentOf, method, path string, body io.Reader) (int, string) {
	GinkgoHelper()
	code, text, err := sendAs(ctx, agentOf, method, path, body, "")
	Expect(err).NotTo(HaveOccurred())
	return code, text
}

// sendAs is requestAs with the header Git-Protocol. The error is about an answer that ends early.
func sendAs(ctx context.Context, agentOf, method, path string, body io.Reader, protocol string) (int, string, error) {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", towline.AddOnKubeconfig(f, agentOf))
	Expect(err).NotTo(HaveOccurred())
	client, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, method, config.Host+path, body)
	Expect(err).NotTo(HaveOccurred())
	if protocol != "" {
		req.Header.Set("Git-Protocol", protocol)
	}
	resp, err := client.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
