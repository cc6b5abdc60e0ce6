package towline_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// reportsCRD is a CRD that an uninstalled release must leave.
const reportsCRD = "crd/multiclusterapplicationsetreports.apps.open-cluster-management.io"

// hub is a real API server with all CRDs of a hub, and without controllers.
type hub struct {
	*testing.T

	fleet  *fleet.Fleet
	binary string
}

// TestChartOnAHub installs, upgrades and removes the chart as in docs/install.md, upgrade.md and uninstall.md. Towline
// runs with the rendered objects.
func TestChartOnAHub(t *testing.T) {
	if os.Getenv("TOWLINE_FLEET_TEST") == "" {
		t.Skip("set TOWLINE_FLEET_TEST=1 to start real fleets")
	}
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: filepath.Join(t.TempDir(), "fleet"), HubControlPlaneOnly: true, AuditLog: true, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	binary, err := towline.Build(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		run  func(*hub)
	}{
		{"it takes over what kubectl applied", takeOver},
		{"Towline runs on the rights of the profile ocm", runs},
		{"towline-source answers, and uses each right from the chart", source},
		{"what the test of the release may read is enough", mayCheck},
		{"an upgrade to the profile acm keeps CRDs and reports", upgrade},
		{"Towline runs on the rights of the profile acm", runs},
		{"removal in the order of the docs keeps CRDs and reports", remove},
		{"Helm 3 installs over CRDs that were kept, and removes them when asked", again},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(&hub{t, f, binary}) }) {
			return // each step depends on the earlier steps
		}
	}
}

func takeOver(h *hub) {
	if err := towline.Apply(h.Context(), h.fleet, &h.fleet.Hub.ControlPlane, "deploy/install.yaml"); err != nil {
		h.Fatal(err)
	}
	const uids = "jsonpath={.items[*].metadata.uid}"
	before := h.kubectl("get", reportsCRD, "deployment/towline-controller", "--namespace="+towline.Namespace, "--output="+uids)
	if err := towline.InstallChart(h.Context(), h.fleet); err != nil {
		h.Fatal(err)
	}
	after := h.kubectl("get", reportsCRD, "deployment/towline-controller", "--namespace="+towline.Namespace, "--output="+uids)
	if before != after {
		h.Errorf("CRD and Deployment were made anew: %s, before %s", after, before)
	}
}

// runs starts Towline with the Deployment's arguments and the ServiceAccount's rights, and fails if the API server
// refuses a request.
func runs(h *hub) {
	stop := h.start()
	h.ready()
	stop()
	h.used(towline.ServiceAccount)
}

// used returns the rights that a ServiceAccount of Towline's namespace has used. A refused request fails the test.
func (h *hub) used(account string) []string {
	h.Helper()
	name := "system:serviceaccount:" + towline.Namespace + ":" + account
	requests, err := towline.RequestsOf(h.fleet, func(user string) bool { return user == name })
	if err != nil {
		h.Fatal(err)
	}
	if len(requests.Permitted) == 0 {
		h.Errorf("the audit log has no request of %s", account)
	}
	if len(requests.Refused) > 0 {
		h.Errorf("the API server refused:\n%s", strings.Join(requests.Refused, "\n"))
	}
	return requests.Permitted
}

func mayCheck(h *hub) {
	out, err := towline.Helm(h.Context(), h.fleet, "get", "hooks", towline.Release)
	if err != nil {
		h.Fatal(err)
	}
	h.apply(out)
	kubeconfig, err := h.fleet.Hub.ServiceAccountKubeconfig(h.Context(), towline.Namespace, "towline-check")
	if err != nil {
		h.Fatal(err)
	}
	plugin, err := towline.BuildPlugin(h.Context(), h.fleet)
	if err != nil {
		h.Fatal(err)
	}
	said, err := exec.CommandContext(h.Context(), plugin, "check", "--kubeconfig="+kubeconfig).CombinedOutput()
	h.Logf("%s%v", said, err)
	if strings.Contains(string(said), "\n? ") || !strings.Contains(string(said), "✓ ") {
		h.Errorf("it could not read something:\n%s", said)
	}
	h.kubectl("delete", "--namespace="+towline.Namespace, "pod/towline-check", "serviceaccount/towline-check", "--now")
	h.kubectl("delete", "clusterrole/towline-check", "clusterrolebinding/towline-check")
}

func source(h *hub) {
	const name = "towline-source"
	process, address, err := towline.InstallSource(h.Context(), h.fleet, "source.managedResources=guarded",
		"metrics.readers[0].namespace="+towline.Namespace, "metrics.readers[0].name=prometheus")
	if err != nil {
		h.Fatal(err)
	}
	defer process.Stop()
	h.kubectl("get", "repositories", "--namespace=cluster1")
	h.scrape(address, "towline_source_failures_total", "towline_source_managed_resources_failures_total")

	ctrl.SetLogger(logr.Discard())
	c, err := client.New(h.fleet.Hub.RESTConfig(), client.Options{})
	if err != nil {
		h.Fatal(err)
	}
	granted, err := towline.RightsOf(h.Context(), c, towline.Account(towline.Namespace, name))
	if err != nil || len(granted) == 0 {
		h.Fatalf("the rights of %s are %v: %v", name, granted, err)
	}
	var never []string
	err = wait.PollUntilContextTimeout(h.Context(), time.Second, time.Minute, true, func(context.Context) (bool, error) {
		used := h.used(name)
		never = slices.DeleteFunc(slices.Clone(granted), func(right string) bool { return slices.Contains(used, right) })
		return len(never) == 0, nil
	})
	if err != nil {
		h.Errorf("granted and never used: %s", strings.Join(never, ", "))
	}
}

// scrape reads metrics as the ServiceAccount prometheus. A missing metric fails the test.
func (h *hub) scrape(address string, metrics ...string) {
	h.Helper()
	h.kubectl("create", "serviceaccount", "prometheus", "--namespace="+towline.Namespace)
	token := h.kubectl("create", "token", "prometheus", "--namespace="+towline.Namespace)
	request, err := http.NewRequestWithContext(h.Context(), http.MethodGet, address+"/metrics", http.NoBody)
	if err != nil {
		h.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := insecure.Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		h.Fatal(err)
	}
	for _, metric := range metrics {
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), metric+"{") {
			h.Errorf("%d, without %s:\n%.500s", answer.StatusCode, metric, text)
		}
	}
}

func upgrade(h *hub) {
	h.apply("{apiVersion: apps.open-cluster-management.io/v1alpha1, kind: MulticlusterApplicationSetReport, metadata: {name: kept, namespace: default}}")
	const uid = "--output=jsonpath={.metadata.uid}"
	crd, report := h.kubectl("get", reportsCRD, uid), h.kubectl("get", "multiclusterapplicationsetreport/kept", "--namespace=default", uid)
	if err := towline.InstallChart(h.Context(), h.fleet, "profile=acm"); err != nil {
		h.Fatal(err)
	}
	if after := h.kubectl("get", reportsCRD, uid); after != crd {
		h.Errorf("the CRD is %s, before %s", after, crd)
	}
	if after := h.kubectl("get", "multiclusterapplicationsetreport/kept", "--namespace=default", uid); after != report {
		h.Errorf("the report is %s, before %s", after, report)
	}
	if left := h.kubectl("get", "clusterrole/towline-gitopscluster", "--ignore-not-found", "--output=name"); left != "" {
		h.Errorf("%s is there with the profile acm", left)
	}
}

func remove(h *hub) {
	if err := towline.InstallChart(h.Context(), h.fleet); err != nil {
		h.Fatal(err)
	}
	stop := h.start()
	defer stop()
	h.apply("{apiVersion: apps.open-cluster-management.io/v1beta1, kind: GitOpsCluster, metadata: {name: clusters, namespace: argocd}, " +
		"spec: {argoServer: {argoNamespace: argocd}, placementRef: {kind: Placement, apiVersion: cluster.open-cluster-management.io/v1beta1, name: none}}}")
	h.kubectl("wait", "--namespace=argocd", "gitopscluster/clusters", "--for=condition=Ready=false", "--timeout=60s")
	h.kubectl("delete", "gitopsclusters", "--all-namespaces", "--all", "--timeout=60s")
	rendered, err := towline.Helm(h.Context(), h.fleet, "get", "manifest", towline.Release)
	if err != nil {
		h.Fatal(err)
	}
	if _, err := towline.Helm(h.Context(), h.fleet, "uninstall", towline.Release); err != nil {
		h.Fatal(err)
	}
	h.kubectl("get", "multiclusterapplicationsetreport/kept", "--namespace=default")
	crds := 0
	for name := range strings.FieldsSeq(h.kubectl("get", "--ignore-not-found", "--output=name", "--filename="+h.file(rendered))) {
		if !strings.HasPrefix(name, "customresourcedefinition.") {
			h.Errorf("%s was left", name)
		}
		crds++
	}
	if crds != 3 {
		h.Errorf("%d CRDs were left, want 3", crds)
	}
}

func again(h *hub) {
	for _, args := range [][]string{
		{"install", towline.Release, "deploy/chart", "--set=image.repository=towline,crds.keep=false"},
		{"uninstall", towline.Release},
	} {
		if _, err := towline.HelmVersion(h.Context(), h.fleet, "helm3", args...); err != nil {
			h.Fatal(err)
		}
	}
	h.kubectl("wait", "--for=delete", reportsCRD, "--timeout=60s")
}

// start starts Towline, and returns a function that stops Towline.
func (h *hub) start() (stop func()) {
	h.Helper()
	t, err := towline.Run(h.Context(), h.fleet, h.binary, "towline-"+strings.ReplaceAll(filepath.Base(h.Name()), "_", "-"))
	if err != nil {
		h.Fatal(err)
	}
	return t.Stop
}

// ready waits until Towline leads, has started its controllers, and has filled their caches.
func (h *hub) ready() {
	h.Helper()
	h.kubectl("wait", "--namespace="+towline.Namespace, "lease/towline-controller", "--for=jsonpath={.spec.holderIdentity}", "--timeout=60s")
	h.apply("{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: probe, namespace: argocd, " +
		"labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: \"true\"}, " +
		"annotations: {apps.open-cluster-management.io/ocm-managed-cluster: none, argocd.argoproj.io/skip-reconcile: \"true\"}}, " +
		"spec: {project: default, destination: {server: \"https://kubernetes.default.svc\"}, source: {repoURL: \"https://none.example\"}}}")
	h.kubectl("wait", "--namespace=argocd", "application/probe", "--for=jsonpath={.status.conditions[0].type}", "--timeout=60s")
	h.kubectl("delete", "--namespace=argocd", "application/probe", "--timeout=60s")
}

func (h *hub) kubectl(args ...string) string {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), 2*time.Minute)
	defer cancel()
	out, err := h.fleet.Hub.Kubectl(ctx, args...)
	if err != nil {
		h.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (h *hub) apply(manifest string) {
	h.Helper()
	h.kubectl("apply", "--server-side", "--force-conflicts", "--filename="+h.file(manifest))
}

// file writes a manifest into a file, and returns the path.
func (h *hub) file(manifest string) string {
	h.Helper()
	path := filepath.Join(h.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}
