package commands_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/fixture/apiserver"
)

// TestChartBringsReports: with the profile acm, the chart leaves an existing CRD of reports to Advanced Cluster
// Management. The chart brings the CRD to a hub without the CRD.
func TestChartBringsReports(t *testing.T) {
	environment := append(os.Environ(), "KUBECONFIG="+kubeconfig(t, apiserver.Start(t).Config))
	remove := func(crd string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), os.Getenv("KUBEBUILDER_ASSETS")+"/kubectl", "delete", "--wait", "crd", crd)
		command.Env = environment
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	const crd = "multiclusterapplicationsetreports.apps.open-cluster-management.io"
	brings := func() bool {
		t.Helper()
		command := exec.CommandContext(t.Context(), helm(t), "template", "towline", "deploy/chart", "--namespace", "default", "--dry-run=server",
			"--set", "profile=acm,image.repository=registry.example/towline")
		command.Dir, command.Env = root, environment
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "  name: applicationreports.apps.open-cluster-management.io") {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Contains(string(out), "  name: "+crd)
	}
	remove("applicationreports.apps.open-cluster-management.io") // a CRD of Towline alone
	if brings() {
		t.Error("the chart takes the CRD over from another product")
	}
	remove(crd)
	if !brings() {
		t.Error("the hub has no CRD of reports, and the chart brings none")
	}
}
