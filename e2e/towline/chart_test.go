package towline_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// user is Towline's user name on the hub.
const user = "system:serviceaccount:" + towline.Namespace + ":" + towline.ServiceAccount

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
	if refused := h.refused(); len(refused) > 0 {
		h.Errorf("the API server refused:\n%s", strings.Join(refused, "\n"))
	}
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

// refused returns Towline's requests in the audit log that the API server refused.
func (h *hub) refused() (found []string) {
	h.Helper()
	file, err := os.Open(h.fleet.Hub.AuditLog())
	if err != nil {
		h.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	all := 0
	for lines.Scan() {
		var e struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ResponseStatus   struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			h.Fatal(err)
		}
		if e.User.Username != user {
			continue
		}
		all++
		if e.ResponseStatus.Code == 403 {
			found = append(found, e.Verb+" "+e.RequestURI)
		}
	}
	if all == 0 {
		h.Error("the audit log has no request of Towline")
	}
	return found
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
