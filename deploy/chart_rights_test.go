package deploy_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// bringsCRD is the only right given by the profile acm and not by ocm. With the profile acm, the CRD of reports belongs
// to Advanced Cluster Management. Towline creates the CRD again if Advanced Cluster Management removes the CRD.
const bringsCRD = "ClusterRole/towline-controller-reports-crd create apiextensions.k8s.io/customresourcedefinitions "

// TestChartRightsOfACM: with the profile acm, Towline has fewer rights than with ocm, and only bringsCRD in addition.
// The end-to-end suite checks that Towline uses each right of ocm.
func TestChartRightsOfACM(t *testing.T) {
	ocm, acm := rights(t), rights(t, "--set=profile=acm")
	for right := range acm {
		if !ocm[right] && right != bringsCRD {
			t.Errorf("with the profile acm alone: %s", right)
		}
	}
	if !acm[bringsCRD] {
		t.Error("with the profile acm, Towline may not create the CRD of reports")
	}
	if len(acm) >= len(ocm) || len(acm) == 0 {
		t.Errorf("%d rights with the profile acm, %d with ocm", len(acm), len(ocm))
	}
	for right := range acm {
		if strings.Contains(right, "gitopsclusters") && !strings.HasPrefix(right, "ClusterRole/towline-view ") {
			t.Errorf("with the profile acm: %s", right)
		}
	}
}

// rights returns the rights in the chart's roles, as "<role> <verb> <group>/<resource> <name>".
func rights(t *testing.T, values ...string) map[string]bool {
	t.Helper()
	out, err := template(t, helms[0], namespace, append(values, placeholder...)...)
	if err != nil {
		t.Fatal(err)
	}
	return rightsIn(t, out)
}

// rightsIn returns the rights in the roles of a manifest.
func rightsIn(t *testing.T, manifest []byte) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, o := range objects(t, manifest) {
		var role rbacv1.ClusterRole
		if kind := o["kind"]; kind != "ClusterRole" && kind != "Role" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, right := range each(rule) {
				found[role.Kind+"/"+role.Name+" "+right] = true
			}
		}
	}
	return found
}

// each splits a rule into single rights: "<verb> <group>/<resource> <name>", or "<verb> <URL>".
func each(rule rbacv1.PolicyRule) (found []string) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, path := range rule.NonResourceURLs {
			found = append(found, verb+" "+path)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					found = append(found, verb+" "+group+"/"+resource+" "+name)
				}
			}
		}
	}
	return found
}

// TestRightsOfACMAreThoseOfItsControllers: with the profile acm, the controller has exactly the rights requested by
// RBAC markers in the running code. Rights requested only by the controller gitopscluster are missing.
func TestRightsOfACMAreThoseOfItsControllers(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "go", "list", "../controllers/...", "../cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"tool", "-modfile=../.ci/tools/go.mod", "controller-gen", "rbac:roleName=towline-controller", "output:stdout"}
	left := 0
	for pkg := range strings.FieldsSeq(string(list)) {
		switch {
		case strings.HasSuffix(pkg, "/controllers/gitopscluster"):
			left++
		case strings.HasSuffix(pkg, "/controllers/decisions"): // The controller decisions has a separate role.
		default:
			args = append(args, "paths="+pkg)
		}
	}
	if left != 1 {
		t.Fatalf("%d packages are of the controller gitopscluster", left)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("controller-gen: %v", err)
	}
	asked, rendered := rightsIn(t, out), map[string]bool{}
	for right := range rights(t, "--set=profile=acm") {
		if strings.Contains(right, "/towline-controller ") {
			rendered[right] = true
		}
	}
	if len(asked) == 0 {
		t.Fatal("the code asks for nothing")
	}
	if diff := cmp.Diff(asked, rendered); diff != "" {
		t.Errorf("(-the code asks for +the chart renders):\n%s", diff)
	}
}
