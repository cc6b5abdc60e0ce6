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
		{"Kubernetes of a managed cluster", "fleet", "k8s.io/kubernetes"},
		{"Kubernetes of a managed cluster", "kubernetes", "k8s.io/kubernetes"},
		{"Open Cluster Management", "fleet", "open-cluster-management.io/ocm"},
		{"Open Cluster Management", "ocm", "open-cluster-management.io/ocm"},
		{"Argo CD, on the hub and on the clusters, in any mixture", "fleet", "github.com/argoproj/argo-cd/v3"},
		{"Argo CD, on the hub and on the clusters, in any mixture", "argocd", "github.com/argoproj/argo-cd/v2"},
	} {
		pins, err := os.ReadFile("../e2e/programs/" + tc.modules + "/go.mod")
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(regexp.QuoteMeta(tc.module) + ` v(\d+\.\d+)\.`).FindSubmatch(pins)
		if m == nil {
			t.Errorf("e2e/programs/%s has no %s", tc.modules, tc.module)
			continue
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(string(m[1])) + `\b`).MatchString(rows[tc.row]) {
			t.Errorf("%q: the tests run with %s %s, and the page says %q", tc.row, tc.module, m[1], rows[tc.row])
		}
	}
}
