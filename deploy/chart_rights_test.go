package deploy_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// bringsCRD is the one right that only a hub of another product's CRDs gives: Towline creates the CRD of reports when the product removes it.
const bringsCRD = "ClusterRole/towline-controller-reports-crd create apiextensions.k8s.io/customresourcedefinitions "

// TestChartRightsOfACM: with the profile acm, Towline has less rights than with ocm, and but one more. The end-to-end suite sees that
// each of ocm is used.
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

// rights are those that the chart's roles give, as "<role> <verb> <group>/<resource> <name>".
func rights(t *testing.T, values ...string) map[string]bool {
	t.Helper()
	out, err := template(t, helms[0], namespace, append(values, placeholder...)...)
	if err != nil {
		t.Fatal(err)
	}
	return rightsIn(t, out)
}

// rightsIn are those of a manifest's roles.
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

// each are the rights of a rule, one by one.
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

// TestRightsOfACMAreThoseOfItsControllers: with the profile acm, the controller may do what the code that runs there asks for, and
// nothing that the controller gitopscluster alone asks for.
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
		case strings.HasSuffix(pkg, "/controllers/decisions"): // which has a role of its own
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
