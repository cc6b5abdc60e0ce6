package envtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
)

// wayBack returns the commands of a step of "The way back" in docs/takeover.md.
func wayBack(t *testing.T, step string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/takeover.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## The way back\n")
	_, text, _ := strings.Cut(section, "\n"+step+". ")
	_, text, _ = strings.Cut(text, "   ```sh\n")
	commands, _, found := strings.Cut(text, "   ```\n")
	if !found {
		t.Fatalf("step %s has no commands", step)
	}
	return commands
}

// shell runs commands of the documents as an administrator of the hub does, in one namespace instead of all, and
// returns their output.
func shell(t *testing.T, commands, namespace string) string {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Fatalf("%v: apt-get install jq", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: hub.Host, CertificateAuthorityData: hub.CAData}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: hub.CertData, ClientKeyData: hub.KeyData, Token: hub.BearerToken,
	}
	config.Contexts["hub"], config.CurrentContext = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "admin"}, "hub"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-euo", "pipefail", "-c",
		strings.ReplaceAll(commands, " -A", " -n "+namespace))
	programs := os.Getenv("KUBEBUILDER_ASSETS") // contains kubectl
	run.Env = append(os.Environ(), "KUBECONFIG="+file, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", commands, err, out)
	}
	return string(out)
}

// TestReturnToOlderControllers: the commands for the return to the older controllers do what the document says.
func TestReturnToOlderControllers(t *testing.T) {
	towline := start(t)
	p := appProject(t)
	app := webApp(t, cluster(t), p.Name, "https://git.example.com/x").Obj()
	create(t, app)
	key := dependency.ProjectKey(app.Cluster(), p.Name)
	expectDependency(t, key, carries(`"kind":"AppProject"`))
	own := expectWork(t, app)
	towline.stop()

	commands := wayBack(t, "2")
	orphan, rest, commented := strings.Cut(commands, "   # This prints nothing")
	_, rest, _ = strings.Cut(rest, "\n")
	wait, remove, deletes := strings.Cut(rest, "   kubectl delete ")
	if !commented || !deletes {
		t.Fatalf("step 2 has other commands than this test knows: %s", commands)
	}
	shell(t, orphan, key.Namespace)
	w := dependencyWork(t, key)
	if o := w.Spec.DeleteOption; o == nil || o.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan || o.SelectivelyOrphan != nil {
		t.Fatalf("its end takes what it carries: %+v", o)
	}
	if got := strings.TrimSpace(shell(t, wait, key.Namespace)); got != key.String() {
		t.Errorf("its agent has applied nothing, and this is printed: %q", got)
	}
	answer(t, key, metav1.ConditionTrue, "")
	if got := shell(t, wait, key.Namespace); got != "" {
		t.Errorf("all is applied, and this is printed: %q", got)
	}
	shell(t, "kubectl delete "+remove, key.Namespace)
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return get(t, w.DeepCopy()) }, soon, tick).Should(BeNil())
	if now := get(t, own.DeepCopy()); now == nil || now.Generation != own.Generation {
		t.Errorf("the work of the Application is %+v", now)
	}

	shell(t, strings.ReplaceAll(wayBack(t, "3"), "kubectl delete ", "kubectl delete --dry-run=server "), "default")

	edit(t, app, func(app *argocd.Application) {
		app.Status.Health.Status = "Healthy"
		app.Status.Conditions = []argocd.Condition{{Type: apis.ConditionReleaseWarning, Message: "released"}}
	})
	shell(t, wayBack(t, "5"), app.Namespace)
	if s := get(t, app.DeepCopy()).Status; len(s.Conditions) > 0 || s.Health.Status != "Healthy" {
		t.Errorf("it shows %+v", s)
	}
}
