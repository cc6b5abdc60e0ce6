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
	_ "github.com/towline-io/towline/pkg/fixture/withoutcgo" // `go` runs in this test
)

const root = "../.."

// notRun are the programs of the documentation not run by the test, each with the reason.
var notRun = map[string]string{
	"argocd":       "it needs an argocd-server: e2e/suite runs these commands",
	"argocd-agent": "it needs certificates and a fleet",
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

// placeholders replaces the placeholders of the documentation with names on the hub.
var placeholders = strings.NewReplacer(" APPLICATION ", " guestbook ")

// TestDocumentedCommands: each command of the documentation works as written, on the hub of testdata/hub.yaml.
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

// run runs a block with bash. run returns the number of the block's commands for each way to run a command, as recorded
// by the stand-ins.
func run(t *testing.T, environment []string, b documented.Block) map[string]int {
	t.Helper()
	record := filepath.Join(t.TempDir(), "calls")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a waiting command may never end
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

// startHub starts an API server with the CRDs and the objects of a hub. startHub returns the environment of the commands.
func startHub(t *testing.T) []string {
	t.Helper()
	config := apiserver.Start(t, "testdata/crds.yaml").Config
	fill(t, config)
	return append(os.Environ(), "KUBECONFIG="+kubeconfig(t, config), "REAL_PATH="+os.Getenv("PATH"),
		"PATH="+programs(t)+string(os.PathListSeparator)+os.Getenv("PATH"), "PLUGIN="+build(t), "HELM="+helm(t))
}

// fill creates the objects of testdata/hub.yaml, and sets the status of each object with a status.
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
		if err := admin.Status().Update(t.Context(), u); err != nil && !apierrors.IsNotFound(err) { // some kinds have no status subresource
			t.Fatalf("status of %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// kubeconfig writes a file with the contexts of the documentation and returns the file's path. Each context leads to
// the hub.
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

// programs returns a new folder with links to the stand-ins.
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

// build builds kubectl-towline, and returns the path of the binary.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubectl-towline")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, root+"/cmd/kubectl-towline").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// helm returns the path of Helm as built by Go.
func helm(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile="+root+"/.ci/tools/helm4/go.mod", "helm").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
