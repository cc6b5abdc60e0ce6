package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// create makes an Application on the hub without a clean-up.
func create(ctx context.Context, name, on string) {
	GinkgoHelper()
	app := fixture.Application(name).Cluster(on).Spec(spec("guestbook", name)).Finalizers(apis.FinalizerResources).Obj()
	app.UID = ""
	Expect(hub.Create(ctx, app)).To(Succeed())
}

// installAddOn installs the add-ons on all clusters for a spec. A clean-up removes the add-ons even after a failure,
// because the granted rights would stay for all later specs.
func installAddOn(ctx context.Context, components ...string) {
	GinkgoHelper()
	DeferCleanup(removeAddOn)
	Expect(towline.InstallAddOn(ctx, f, components...)).To(Succeed())
}

// removeAddOn removes the add-ons from all clusters and waits until OCM's objects for the add-ons are gone. Otherwise
// OCM could remove objects under the agent of a later spec, after the later spec has installed the add-on again. The
// work agents keep only the rights of example/managed. A spec that removes the rights of example/managed does so on
// purpose.
//
// The add-on manager removes the add-ons when their Placements choose no cluster any more. The function does not delete
// an add-on directly: a manager that has not seen the new Placements yet would create the add-on again, and the
// add-on's rights would stay behind.
func removeAddOn(ctx context.Context) {
	GinkgoHelper()
	for _, c := range f.Clusters() {
		Eventually(ctx, addOnsOf).WithArguments(c.Name()).Should(ContainElement(towline.RightsAddOn), "the manager has not seen that it is asked for")
	}
	for _, addOn := range []string{towline.AddOn, towline.RightsAddOn} {
		patchAddOn(ctx, "clustermanagementaddon", addOn, installedNowhere)
	}
	for _, c := range f.Clusters() {
		Eventually(ctx, addOnsOf).WithArguments(c.Name()).ShouldNot(ContainElements(BeElementOf(towline.AddOn, towline.RightsAddOn)))
		for _, addOn := range []string{towline.AddOn, towline.RightsAddOn} {
			deploys := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: c.Name(), Name: "addon-" + addOn + "-deploy-0"}}
			Eventually(ctx, read(hub, deploys)).Should(BeNil(), c.Name())
		}
		identity := secretOn(towline.AddOnNamespace, towline.AddOn+"-hub-kubeconfig")
		Eventually(ctx, read(cluster[c.Name()], identity)).Should(BeNil(), c.Name())
		_, err := c.Kubectl(ctx, "delete", "rolebinding", addOnBinding, "--namespace", argocdNamespace, "--ignore-not-found")
		Expect(err).NotTo(HaveOccurred())
	}
	patchAddOn(ctx, "clustermanagementaddon", towline.AddOn, installedByHand)
	deleteAddOn(ctx, "clustermanagementaddon", towline.RightsAddOn)
	// A spec may have changed the template and the configuration of the add-on. The next spec applies deploy/addon, and
	// the changes would cause a conflict.
	deleteAddOn(ctx, "addontemplate", towline.AddOn)
	deleteAddOn(ctx, "addondeploymentconfig", towline.AddOn)
}

func deleteAddOn(ctx context.Context, kind, name string) {
	GinkgoHelper()
	_, err := f.Hub.Kubectl(ctx, "delete", kind+"s.addon.open-cluster-management.io", name, "--namespace", argocdNamespace)
	Expect(err).NotTo(HaveOccurred())
}

// addOnBinding is the RoleBinding by which the add-on for rights gives the work agent its rights. The RoleBinding
// outlives the add-on.
const addOnBinding = "towline:work-agent"

// addOnsOf returns the names of a cluster's add-ons.
func addOnsOf(ctx context.Context, on string) ([]string, error) {
	names, err := f.Hub.Kubectl(ctx, "get", "managedclusteraddons.addon.open-cluster-management.io", "--namespace", on,
		"--output", "jsonpath={.items[*].metadata.name}")
	return strings.Fields(names), err
}

// appReportOf returns the key of the ApplicationReport for the hub Application, as an object to read.
func appReportOf(ctx context.Context, name string) *v1alpha1.ApplicationReport {
	GinkgoHelper()
	app, err := read(hub, named(name))(ctx)
	Expect(err).NotTo(HaveOccurred())
	key := work.Key(app)
	return &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// expectSameDetail waits until the status of the hub Application is equal to the status of the cluster's Application.
func expectSameDetail(ctx context.Context, on, name string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		there, err := read(cluster[on], named(name))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		here, err := read(hub, named(name))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(here.Status.Resources).NotTo(BeEmpty())
		g.Expect(here.Status.Resources).To(Equal(there.Status.Resources))
		g.Expect(here.Status.Summary).To(Equal(there.Status.Summary))
		g.Expect(here.Status.History).To(Equal(there.Status.History))
		g.Expect(here.Status.OperationState).To(Equal(there.Status.OperationState))
		// A new operation has no result yet.
		g.Expect(here.Status.OperationState).To(And(Not(BeNil()), HaveField("SyncResult", And(Not(BeNil()), HaveField("Resources", Not(BeEmpty()))))))
	}).Should(Succeed())
}

// addConfigMap commits a ConfigMap to the guestbook, and removes the ConfigMap from Git at the end of the spec.
func addConfigMap(ctx context.Context, name string) {
	GinkgoHelper()
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{"guestbook/" + name + ".yaml": manifest}, "Add "+name)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		_, err := f.Git.Remove(ctx, fleet.AppsRepo, []string{"guestbook/" + name + ".yaml"}, "Remove "+name)
		Expect(err).NotTo(HaveOccurred())
	})
}

// login returns the argocd CLI of the hub's version, logged in to the hub's argocd-server.
func login(ctx context.Context) func(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return loginWith(ctx, "argocd")
}

// loginWith returns the given argocd CLI of the fleet, logged in to the hub's argocd-server.
func loginWith(ctx context.Context, program string) func(ctx context.Context, args ...string) string {
	GinkgoHelper()
	password, err := f.Hub.ArgoCDPassword(ctx)
	Expect(err).NotTo(HaveOccurred())
	server := strings.TrimPrefix(strings.TrimPrefix(f.Hub.ArgoCDURL(), "https://"), "http://")
	file := GinkgoT().TempDir() + "/argocd"
	flags := []string{"--config", file, "--insecure", "--grpc-web"}
	if strings.HasPrefix(f.Hub.ArgoCDURL(), "http://") {
		flags = append(flags, "--plaintext")
	}
	run := func(ctx context.Context, args ...string) string {
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		cmd := exec.CommandContext(ctx, f.Program(program), append(args, flags...)...)
		out, err := cmd.CombinedOutput()
		Expect(ctx.Err()).NotTo(HaveOccurred(), "argocd %v hangs: %s", args, out)
		return string(out) + errorText(err)
	}
	Expect(run(ctx, "login", server, "--username", "admin", "--password", password)).To(ContainSubstring("logged in"))
	return run
}

// showsTree expects each resource of the guestbook in both trees of an argocd CLI.
func showsTree(ctx context.Context, argo func(ctx context.Context, args ...string) string, version, name string) {
	GinkgoHelper()
	var out string
	Eventually(ctx, func(g Gomega, ctx context.Context) { // the cluster may be comparing at this moment
		out = argo(ctx, "app", "get", name, "--output", "tree")
		g.Expect(out).To(And(MatchRegexp(`Deployment/guestbook-ui\s+Synced`), MatchRegexp(`Service/guestbook-ui\s+Synced`)))
		g.Expect(strings.Count(out, "guestbook-ui  ")).To(Equal(2), "one row for each")
	}).Should(Succeed())
	AddReportEntry("argocd app get --output tree, by the CLI of "+version, out)
	Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "resources", name, "--output", "tree") }).Should(
		And(MatchRegexp(`Deployment\s+`+name+`\s+guestbook-ui\s+No`), MatchRegexp(`Service\s+`+name+`\s+guestbook-ui\s+No`)))
}

// token returns a session token of argocd-server's admin.
func token(ctx context.Context) string {
	GinkgoHelper()
	password, err := f.Hub.ArgoCDPassword(ctx)
	Expect(err).NotTo(HaveOccurred())
	var session struct {
		Token string `json:"token"`
	}
	login := fmt.Sprintf(`{"username":"admin","password":%q}`, password)
	Expect(json.Unmarshal(request(ctx, http.MethodPost, "/api/v1/session", "", login), &session)).To(Succeed())
	return session.Token
}

// resourceByServer sends a request for a ConfigMap of an Application to the hub's argocd-server: read, patch or delete.
// It returns the answer's body.
func resourceByServer(ctx context.Context, method, app, version string, c *corev1.ConfigMap) string {
	GinkgoHelper()
	query := url.Values{"kind": {"ConfigMap"}, "version": {version}, "namespace": {c.Namespace}, "resourceName": {c.Name},
		"patchType": {"application/merge-patch+json"}}
	return string(request(ctx, method, "/api/v1/applications/"+app+"/resource?"+query.Encode(), token(ctx), `"{}"`))
}

// eventsByServer returns the hub's argocd-server's answer for the events of a ConfigMap of an Application.
func eventsByServer(ctx context.Context, app string, c *corev1.ConfigMap, uid string) string {
	GinkgoHelper()
	query := url.Values{"resourceUID": {uid}, "resourceNamespace": {c.Namespace}, "resourceName": {c.Name}}
	return string(request(ctx, http.MethodGet, "/api/v1/applications/"+app+"/events?"+query.Encode(), token(ctx), ""))
}

func request(ctx context.Context, method, path, token, body string) []byte {
	GinkgoHelper()
	req, err := http.NewRequestWithContext(ctx, method, f.Hub.ArgoCDURL()+path, strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return data
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "\n" + err.Error()
}

// measure returns how long ten changes of health on the cluster take to reach the hub Application's resources.
func measure(ctx context.Context, on, name string) string {
	GinkgoHelper()
	var took []time.Duration
	for i := range 10 {
		message := fmt.Sprintf("sample %d", i)
		patch := `[{"op":"add","path":"/status/resources/0/health","value":{"status":"Healthy","message":"` + message + `"}}]`
		var began time.Time
		Eventually(ctx, func(ctx context.Context) (*argocd.Application, error) {
			if time.Since(began) > time.Second { // the first time, and again if a comparison of Argo CD has removed the patched health
				began = time.Now()
				if err := cluster[on].Patch(ctx, named(name), client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
					return nil, err
				}
			}
			return read(hub, named(name))(ctx)
		}).WithPolling(5 * time.Millisecond).
			Should(HaveField("Status.Resources", ContainElement(HaveField("Health", HaveValue(HaveField("Message", message))))))
		took = append(took, time.Since(began))
		time.Sleep(300 * time.Millisecond)
	}
	return fmt.Sprint(took)
}

// load makes an Application on cluster1 and its work on the hub. The namespace of the Application has no Argo CD, and
// the namespace of the work has no agent.
func load(ctx context.Context, name, namespace, clusterName string, status argocd.Status) {
	GinkgoHelper()
	app := fixture.Application(name).Namespace(namespace).Label(apis.LabelPulled, "true").Annotation(apis.AnnotationWork, name+"-00000").Obj()
	delete(app.Labels, apis.LabelPull)
	app.UID, app.Status = "", status
	Expect(cluster["cluster1"].Create(ctx, app)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(cluster["cluster1"].Delete(ctx, app)).To(Succeed()) })
	raw, err := json.Marshal(map[string]any{"apiVersion": argocd.GroupVersion.String(), "kind": argocd.Kind,
		"metadata": map[string]string{"namespace": namespace, "name": name}})
	Expect(err).NotTo(HaveOccurred())
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: clusterName, Name: name + "-00000"}}
	w.Spec.Workload.Manifests = []workv1.Manifest{{}}
	w.Spec.Workload.Manifests[0].Raw = raw
	Expect(hub.Create(ctx, w)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(hub.Delete(ctx, w)).To(Succeed()) })
}

// loadAgent runs an agent with all rights, for a cluster name without a real cluster.
func loadAgent(ctx context.Context, namespace, clusterName string, more ...string) *fleet.Process {
	GinkgoHelper()
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	probes := fmt.Sprintf("127.0.0.1:%d", ports[0])
	agent, err := f.Run(ctx, fleet.Command{
		Name: "agent-load", Path: binary, Env: towline.AgentEnv, Ready: fleet.HTTPReady("http://" + probes + "/readyz"),
		Args: append([]string{"agent", "--kubeconfig=" + f.Cluster("cluster1").Kubeconfig(), "--hub-kubeconfig=" + f.Hub.Kubeconfig(),
			"--cluster-name=" + clusterName, "--application-namespaces=" + namespace, "--metrics-bind-address=0",
			"--health-probe-bind-address=" + probes}, more...),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(agent.Stop)
	return agent
}
