package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCompatibilityNamesTheTestedVersions: docs/compatibility.md names the minor versions of the programs that the tests
// build.
func TestCompatibilityNamesTheTestedVersions(t *testing.T) {
	page, err := os.ReadFile("../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // the last cell, by the first words of the row
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 3 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells[2]
		}
	}
	for _, tc := range []struct{ row, modules, module string }{
		{"Kubernetes of the hub", "fleet", "k8s.io/kubernetes"},
		{"Kubernetes of the hub", "kubernetes", "k8s.io/kubernetes"},
		{"Kubernetes of the hub", "newest", "k8s.io/kubernetes"},
		{"Kubernetes of a managed cluster", "fleet", "k8s.io/kubernetes"},
		{"Kubernetes of a managed cluster", "kubernetes", "k8s.io/kubernetes"},
		{"Kubernetes of a managed cluster", "newest", "k8s.io/kubernetes"},
		{"Open Cluster Management", "fleet", "open-cluster-management.io/ocm"},
		{"Open Cluster Management", "ocm", "open-cluster-management.io/ocm"},
		{"Argo CD, on the hub and on the clusters, in any mixture", "fleet", "github.com/argoproj/argo-cd/v3"},
		{"Argo CD, on the hub and on the clusters, in any mixture", "argocd", "github.com/argoproj/argo-cd/v2"},
		{"Argo CD, on the hub and on the clusters, in any mixture", "newest", "github.com/argoproj/argo-cd/v3"},
	} {
		minor := regexp.MustCompile(`^v\d+\.\d+`).FindString(required(t, "e2e/programs/"+tc.modules, tc.module))
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimPrefix(minor, "v")) + `\b`).MatchString(rows[tc.row]) {
			t.Errorf("%q: the tests run with %s %s, and the page says %q", tc.row, tc.module, minor, rows[tc.row])
		}
	}
}

// TestContractHasTheShippedVersions: the contract tests compare the shipped versions of the libraries for patterns with Argo
// CD. Argo CD's go.mod may require a later version than Towline's go.mod. The contract tests have the Argo CD and the
// Kubernetes of the fleet.
func TestContractHasTheShippedVersions(t *testing.T) {
	for _, module := range []string{"github.com/gobwas/glob", "github.com/dlclark/regexp2"} {
		if ours, theirs := required(t, ".", module), required(t, "e2e/contract", module); ours != theirs {
			t.Errorf("Towline has %s %s, and e2e/contract has %s", module, ours, theirs)
		}
	}
	for _, module := range []string{"github.com/argoproj/argo-cd/v3", "k8s.io/kubernetes"} {
		if ours, theirs := required(t, "e2e/programs/fleet", module), required(t, "e2e/contract", module); ours != theirs {
			t.Errorf("the fleet has %s %s, and e2e/contract has %s", module, ours, theirs)
		}
	}
}

// TestKindHasATestedArgoCD: docs/kind.md installs the usual Argo CD 3 of the tests.
func TestKindHasATestedArgoCD(t *testing.T) {
	page, err := os.ReadFile("../docs/kind.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "/argo-cd/" + required(t, "e2e/programs/fleet", "github.com/argoproj/argo-cd/v3") + "/manifests/"; !strings.Contains(string(page), want) {
		t.Errorf("docs/kind.md does not contain %s", want)
	}
}

// required returns the version of a module in the go.mod of a folder of the repository.
func required(t *testing.T, folder, module string) string {
	t.Helper()
	version := requirements(t, folder)[module]
	if version == "" {
		t.Fatalf("%s/go.mod has no %s", folder, module)
	}
	return version
}

// requirement is a line of a go.mod with a module and its version. A replacement has the same form, and follows the requirement.
var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?([^\s()]+\.[^\s()]+) (v\S+)`)

// requirements returns the version of each module in the go.mod of a folder of the repository.
func requirements(t *testing.T, folder string) map[string]string {
	t.Helper()
	pins, err := os.ReadFile("../" + folder + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(pins), -1) {
		if versions[m[1]] == "" {
			versions[m[1]] = m[2]
		}
	}
	return versions
}
