package commands_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/fixture/apiserver"
	"github.com/towline-io/towline/pkg/fixture/documented"
)

const root = "../.."

// notRun are programs that a test cannot run, each with the reason.
var notRun = map[string]string{
	"argocd":       "it needs an argocd-server: e2e/suite runs these commands",
	"clusteradm":   "it needs Docker and the internet",
	"cosign":       "it needs a published release",
	"docker":       "it needs a container engine",
	"gh":           "it needs a published release",
	"git":          "its commit is that of testdata/hub.yaml",
	"go":           "it draws pictures of results that the reader has",
	"install":      "it would write outside the test",
	"kind":         "it needs a container engine",
	"operator-sdk": "it needs a cluster with the Operator Lifecycle Manager",
	"sha256sum":    "it needs a published release",
	"towline":      "TestDocumentedBlocks checks its flags",

	"towline-maestro": "TestDocumentedBlocks checks its flags, and e2e/migration runs it",
}

// placeholders are words that a reader replaces.
var placeholders = strings.NewReplacer(" APPLICATION ", " guestbook ")

// TestDocumentedCommands: each command of the documentation works as it is written, on a hub like that of testdata/hub.yaml.
func TestDocumentedCommands(t *testing.T) {
	environment := startHub(t)
	pages, err := documented.Pages(root, documented.Written...)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, b := range documented.Blocks(page, pages[page]) {
			if b.Shell() == "" {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(b.Page), b.Line), func(t *testing.T) {
				for how, n := range run(t, environment, b) {
					calls[how] += n
				}
			})
		}
	}
	t.Logf("%v", calls)
	if calls["run"] < 120 {
		t.Errorf("only %d commands ran: there were more", calls["run"])
	}
}

// run has bash run a block, and counts how its commands were run.
func run(t *testing.T, environment []string, b documented.Block) map[string]int {
	t.Helper()
	record := filepath.Join(t.TempDir(), "calls")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // what a follower waits for may never come
	defer cancel()
	block := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", placeholders.Replace(b.Shell()), "documented", "why", "")
	block.Dir = root
	block.Env = append(slices.Clone(environment), "CALLS="+record, "TMPDIR="+t.TempDir())
	if out, err := block.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %v\n%s\n%s", b.Page, b.Line, err, b.Shell(), out)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Errorf("%s:%d has no command: %v", b.Page, b.Line, err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		t.Log(strings.TrimSpace(line))
		how, _, _ := strings.Cut(line, "\t")
		counts[how]++
	}
	return counts
}

// startHub starts an API server with the CRDs, the admission policies and the objects of a hub. It returns the environment of commands.
func startHub(t *testing.T) []string {
	t.Helper()
	config := apiserver.Start(t, "testdata/crds.yaml").Config
	fill(t, config)
	return append(os.Environ(), "KUBECONFIG="+kubeconfig(t, config), "REAL_PATH="+os.Getenv("PATH"),
		"PATH="+programs(t)+string(os.PathListSeparator)+os.Getenv("PATH"), "PLUGIN="+build(t), "HELM="+helm(t))
}

// fill creates the objects of the hub, with their statuses.
func fill(t *testing.T, config *rest.Config) {
	t.Helper()
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/hub.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		status, has := u.Object["status"]
		if err := admin.Create(t.Context(), u); err != nil {
			t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
		if !has {
			continue
		}
		u.Object["status"] = status
		if err := admin.Status().Update(t.Context(), u); err != nil && !apierrors.IsNotFound(err) { // some have no such subresource
			t.Fatalf("status of %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// kubeconfig writes a file with all contexts of the documentation, each of them the hub's.
func kubeconfig(t *testing.T, hub *rest.Config) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: hub.Host, CertificateAuthorityData: hub.CAData}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: hub.CertData, ClientKeyData: hub.KeyData, Token: hub.BearerToken}
	for _, name := range []string{"hub", "kind-hub", "kind-cluster1"} {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "admin"}
	}
	config.CurrentContext = "hub"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// programs makes a folder of the stand-ins.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	stand, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl", "towline-plugin", "helm", "make"} {
		err = errors.Join(err, os.Symlink(filepath.Join(stand, name), filepath.Join(dir, name)))
	}
	for name := range notRun {
		err = errors.Join(err, os.Symlink(filepath.Join(stand, "not-run"), filepath.Join(dir, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// build builds the plugin.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubectl-towline")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, root+"/cmd/kubectl-towline").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// helm is where Go has put Helm.
func helm(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile="+root+"/.ci/tools/helm4/go.mod", "helm").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
