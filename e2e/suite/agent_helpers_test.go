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

// create makes an Application without a clean-up of its own.
func create(ctx context.Context, name, on string) {
	GinkgoHelper()
	app := fixture.Application(name).Cluster(on).Spec(spec("guestbook", name)).Finalizers(apis.FinalizerResources).Obj()
	app.UID = ""
	Expect(hub.Create(ctx, app)).To(Succeed())
}

// installAddOn asks for the add-ons on all clusters, for a spec. They go with it however it ends: the rights that they give would
// stay with all specs after it.
func installAddOn(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(removeAddOn)
	Expect(towline.InstallAddOn(ctx, f)).To(Succeed())
}

// removeAddOn takes the add-ons off all clusters. What OCM has made for them goes after them, and would go from under an agent
// of a spec that asks for the add-on again before that. The work agents keep the rights of example/managed and no others: a spec
// that takes those away means it.
//
// The add-on manager takes the add-ons off, as their Placements choose no cluster any more. One that somebody else deletes is
// made again while the manager has not seen yet that it is not asked for, and leaves its rights behind when it goes.
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
	// A spec may have changed these. The next one applies them as deploy/addon has them, which would be a conflict with the change.
	deleteAddOn(ctx, "addontemplate", towline.AddOn)
	deleteAddOn(ctx, "addondeploymentconfig", towline.AddOn)
}

func deleteAddOn(ctx context.Context, kind, name string) {
	GinkgoHelper()
	_, err := f.Hub.Kubectl(ctx, "delete", kind+"s.addon.open-cluster-management.io", name, "--namespace", argocdNamespace)
	Expect(err).NotTo(HaveOccurred())
}

// addOnBinding is the RoleBinding by which the add-on of rights gives the work agent its own. It outlives the add-on.
const addOnBinding = "towline:work-agent"

// addOnsOf are the names of the add-ons that a cluster has.
func addOnsOf(ctx context.Context, on string) ([]string, error) {
	names, err := f.Hub.Kubectl(ctx, "get", "managedclusteraddons.addon.open-cluster-management.io", "--namespace", on,
		"--output", "jsonpath={.items[*].metadata.name}")
	return strings.Fields(names), err
}

// appReportOf is the report on the hub Application, to read.
func appReportOf(ctx context.Context, name string) *v1alpha1.ApplicationReport {
	GinkgoHelper()
	app, err := read(hub, named(name))(ctx)
	Expect(err).NotTo(HaveOccurred())
	key := work.Key(app)
	return &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// expectSameDetail waits until the hub Application says exactly what the cluster's says.
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
		// An operation that has just begun has no result.
		g.Expect(here.Status.OperationState).To(And(Not(BeNil()), HaveField("SyncResult", And(Not(BeNil()), HaveField("Resources", Not(BeEmpty()))))))
	}).Should(Succeed())
}

// addConfigMap commits one more resource of the guestbook, until the spec ends.
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

// login gives the argocd CLI of the hub's version, logged in to the hub's argocd-server.
func login(ctx context.Context) func(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return loginWith(ctx, "argocd")
}

// loginWith gives one of the fleet's argocd CLIs, logged in.
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

// showsTree expects that a CLI shows each resource of the guestbook, in both of its trees.
func showsTree(ctx context.Context, argo func(ctx context.Context, args ...string) string, version, name string) {
	GinkgoHelper()
	var out string
	Eventually(ctx, func(g Gomega, ctx context.Context) { // the cluster may compare in this moment
		out = argo(ctx, "app", "get", name, "--output", "tree")
		g.Expect(out).To(And(MatchRegexp(`Deployment/guestbook-ui\s+Synced`), MatchRegexp(`Service/guestbook-ui\s+Synced`)))
		g.Expect(strings.Count(out, "guestbook-ui  ")).To(Equal(2), "one row for each")
	}).Should(Succeed())
	AddReportEntry("argocd app get --output tree, by the CLI of "+version, out)
	Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "resources", name, "--output", "tree") }).Should(
		And(MatchRegexp(`Deployment\s+`+name+`\s+guestbook-ui\s+No`), MatchRegexp(`Service\s+`+name+`\s+guestbook-ui\s+No`)))
}

// token is a session of argocd-server's admin.
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

// resourceByServer asks the hub's argocd-server for a ConfigMap of an Application, or to patch or delete it, and gives its answer.
func resourceByServer(ctx context.Context, method, app, version string, c *corev1.ConfigMap) string {
	GinkgoHelper()
	query := url.Values{"kind": {"ConfigMap"}, "version": {version}, "namespace": {c.Namespace}, "resourceName": {c.Name},
		"patchType": {"application/merge-patch+json"}}
	return string(request(ctx, method, "/api/v1/applications/"+app+"/resource?"+query.Encode(), token(ctx), `"{}"`))
}

// eventsByServer asks the hub's argocd-server for the events of a ConfigMap of an Application.
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

// measure is how long a change of health on the cluster takes to the hub Application's resources.
func measure(ctx context.Context, on, name string) string {
	GinkgoHelper()
	var took []time.Duration
	for i := range 10 {
		message := fmt.Sprintf("sample %d", i)
		patch := `[{"op":"add","path":"/status/resources/0/health","value":{"status":"Healthy","message":"` + message + `"}}]`
		var began time.Time
		Eventually(ctx, func(ctx context.Context) (*argocd.Application, error) {
			if time.Since(began) > time.Second { // at first, and when Argo CD compared in that moment and took it off
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

// load makes an Application on cluster1 that no Argo CD looks at, and a work on the hub that no agent applies.
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

// loadAgent runs an agent of a cluster that is not there, with all rights.
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
