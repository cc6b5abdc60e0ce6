// Package deploy_test checks the content of the folder deploy, for example Towline's rights in install.yaml, the chart,
// the alerts and the dashboards. The package also checks the commands and objects in the documentation.
package deploy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/argoredis"
)

const namespace = "argocd"

// byNamespace is the ClusterRole with rights to Secrets.
const byNamespace = "towline-gitopscluster"

// TestSecretsByNamespace: no ClusterRoleBinding gives the rights to Secrets, because the rights are for the namespace
// of a single Argo CD.
func TestSecretsByNamespace(t *testing.T) {
	for _, binding := range documents[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if binding.RoleRef.Name == byNamespace {
			t.Errorf("%s gives them in all namespaces", binding.Name)
		}
	}
}

// TestOneRoleChangesApplicationSets: only the ClusterRole towline-decisions gives the right to patch ApplicationSets,
// and the role has a binding. So an administrator can remove the right alone.
func TestOneRoleChangesApplicationSets(t *testing.T) {
	var may []string
	for _, role := range documents[rbacv1.ClusterRole](t, "ClusterRole") {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "applicationsets") && slices.Contains(rule.Verbs, "patch") {
				may = append(may, role.Name)
			}
		}
	}
	bound := slices.ContainsFunc(documents[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding"), func(b rbacv1.ClusterRoleBinding) bool {
		return b.RoleRef.Name == "towline-decisions"
	})
	if !slices.Equal(may, []string{"towline-decisions"}) || !bound {
		t.Errorf("%v may, bound: %t", may, bound)
	}
}

// TestRolesHaveNoWildcards: each right in the roles names the API group, the resource and the verb. No role may
// escalate, bind or impersonate. The rights to Secrets are limited.
func TestRolesHaveNoWildcards(t *testing.T) {
	roles := documents[rbacv1.ClusterRole](t, "ClusterRole")
	for _, role := range documents[rbacv1.Role](t, "Role") {
		roles = append(roles, rbacv1.ClusterRole{ObjectMeta: role.ObjectMeta, Rules: role.Rules})
	}
	for _, role := range roles {
		for _, rule := range role.Rules {
			for _, values := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				if slices.Contains(values, "*") {
					t.Errorf("%s has a wildcard: %v", role.Name, rule)
				}
			}
			for _, verb := range []string{"escalate", "bind", "impersonate"} {
				if slices.Contains(rule.Verbs, verb) {
					t.Errorf("%s may %s: %v", role.Name, verb, rule)
				}
			}
			if slices.Contains(rule.Resources, "secrets") && role.Name != byNamespace && !ofRedis(rule) &&
				(role.Namespace != namespace || !slices.Equal(rule.Verbs, []string{"list", "watch"})) {
				t.Errorf("%s may do more with Secrets than read those of Argo CD: %v", role.Name, rule)
			}
		}
	}
}

// ofRedis tells whether a rule gives only the right to get the Secrets with the passwords and the certificate of Argo
// CD's Redis.
func ofRedis(rule rbacv1.PolicyRule) bool {
	names := []string{argoredis.TLS}
	for _, p := range argoredis.Passwords {
		names = append(names, p.Secret)
	}
	return slices.Equal(rule.Verbs, []string{"get"}) && sets.New(names...).Equal(sets.New(rule.ResourceNames...))
}

// TestTheServicesOfRedisMayBeRead: a Role has a rule for the Services of Redis, with the names used by Towline's search
// for Redis.
func TestTheServicesOfRedisMayBeRead(t *testing.T) {
	for _, role := range documents[rbacv1.Role](t, "Role") {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "services") && sets.New(argoredis.Services...).Equal(sets.New(rule.ResourceNames...)) {
				return
			}
		}
	}
	t.Error("no rule is for them")
}

// TestThePolicyOfRedisCoversEveryRedis: the NetworkPolicy selects the Redis pods by the names used by Towline's search
// for Redis. TestChartIsKustomize compares the chart with the NetworkPolicy.
func TestThePolicyOfRedisCoversEveryRedis(t *testing.T) {
	want := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app.kubernetes.io/name", Operator: metav1.LabelSelectorOpIn, Values: argoredis.Services},
	}}
	got := read[networkingv1.NetworkPolicy](t, "../components/argocd-redis/network_policy.yaml").Spec.PodSelector
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRightsGoToTheController: the subjects of the bindings have the overlay's namespace. kustomize does not change the
// subjects if kustomize does not find the ServiceAccount.
func TestRightsGoToTheController(t *testing.T) {
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "towline-controller", Namespace: namespace}}
	for _, binding := range documents[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if !slices.Equal(binding.Subjects, want) {
			t.Errorf("%s is for %v", binding.Name, binding.Subjects)
		}
	}
	for _, binding := range documents[rbacv1.RoleBinding](t, "RoleBinding") {
		if !slices.Equal(binding.Subjects, want) || binding.Namespace != namespace {
			t.Errorf("%s/%s is for %v", binding.Namespace, binding.Name, binding.Subjects)
		}
	}
}

// TestDeployment: the Deployment fits into a namespace with the Pod Security level "restricted", and survives the drain
// of a node.
func TestDeployment(t *testing.T) {
	deployment := documents[appsv1.Deployment](t, "Deployment")[0]
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	for what, good := range map[string]bool{
		"two replicas":              *deployment.Spec.Replicas == 2,
		"not root":                  *pod.SecurityContext.RunAsNonRoot,
		"seccomp":                   pod.SecurityContext.SeccompProfile.Type == "RuntimeDefault",
		"no escalation":             !*container.SecurityContext.AllowPrivilegeEscalation,
		"read-only root":            *container.SecurityContext.ReadOnlyRootFilesystem,
		"no capabilities":           slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"memory limit":              !container.Resources.Limits.Memory().IsZero(),
		"probes":                    container.LivenessProbe != nil && container.ReadinessProbe != nil,
		"selects its own pods only": len(deployment.Spec.Selector.MatchLabels) == 2,
	} {
		if !good {
			t.Errorf("not so: %s", what)
		}
	}
}

// documents returns the objects of a kind in install.yaml. A kind without an object fails the test.
func documents[T any](t *testing.T, kind string) []T {
	t.Helper()
	data, err := os.ReadFile("install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []T
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.TypeMeta
		if err := sigsyaml.Unmarshal(document, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind != kind {
			continue
		}
		var object T
		if err := sigsyaml.UnmarshalStrict(document, &object); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		found = append(found, object)
	}
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// TestCRDs: the manifest has the expected CRDs with each component for CRDs.
func TestCRDs(t *testing.T) {
	const group = ".apps.open-cluster-management.io"
	const own, shared, report = "applicationreports" + group, "gitopsclusters" + group, "multiclusterapplicationsetreports" + group
	for word, want := range map[string][]string{"all": {own, shared, report}, "own": {own}, "none": nil} {
		t.Run(word, func(t *testing.T) {
			found := names(t, render(t, component[word]), "CustomResourceDefinition")
			slices.Sort(found)
			if !slices.Equal(found, want) {
				t.Errorf("got %v, want %v", found, want)
			}
		})
	}
}

// component is the kustomize component for each value of crds.enabled in the chart. An empty name means no component.
var component = map[string]string{"all": "", "own": "own-crds", "none": "without-crds"}

// TestOverlays: kustomize builds each overlay, and the only Deployment is towline-controller.
func TestOverlays(t *testing.T) {
	overlays, err := os.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		if strings.HasPrefix(overlay.Name(), "_") {
			continue // a leftover of a killed test
		}
		if found := names(t, renderOverlay(t, overlay.Name(), ""), "Deployment"); !slices.Equal(found, []string{"towline-controller"}) {
			t.Errorf("%s: Deployments %v", overlay.Name(), found)
		}
	}
}

// TestACM: in the overlay acm, Towline runs without the controller of GitOpsClusters and without the controller's
// rights, because Advanced Cluster Management handles the GitOpsClusters.
func TestACM(t *testing.T) {
	whole, manifest := renderOverlay(t, "openshift-gitops", ""), renderOverlay(t, "acm", "own-crds")
	for _, word := range []string{"gitopsclusters", "- placements\n", "- leases\n  verbs:\n  - get\n- apiGroups", "name: towline-gitopscluster"} {
		rights := strings.Count(withoutCRDs(whole), word)
		if left := strings.Count(withoutCRDs(manifest), word); rights == 0 || left > 0 {
			t.Errorf("%q is there %d times, in the other overlay %d", word, left, rights)
		}
	}
	for _, role := range names(t, whole, "ClusterRole") {
		if role != byNamespace && role != byNamespace+"-editor" && !slices.Contains(names(t, manifest, "ClusterRole"), role) {
			t.Errorf("ClusterRole %s is missing", role)
		}
	}
	flag, enabled := "--controllers=", ""
	for line := range strings.Lines(string(manifest)) {
		if _, names, found := strings.Cut(strings.TrimSpace(line), flag); found {
			enabled = names
		}
	}
	want := slices.DeleteFunc(slices.Clone(controllers.Names), func(name string) bool {
		return name == controllers.GitOpsCluster
	})
	if enabled != strings.Join(want, ",") {
		t.Errorf("%s%s, want %v", flag, enabled, want)
	}
}

// withoutCRDs returns a manifest without the CRDs.
func withoutCRDs(manifest []byte) string {
	var kept []string
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		if !strings.Contains(document, "kind: CustomResourceDefinition") {
			kept = append(kept, document)
		}
	}
	return strings.Join(kept, "\n---\n")
}

// render returns the manifest of the overlay argocd with an additional component.
func render(t *testing.T, component string) []byte {
	t.Helper()
	return renderOverlay(t, "argocd", component)
}

// renderFolder creates a folder inside a folder of the repository, until the test ends, because a kustomization reaches
// the repository's folders only by relative paths. The name begins with an underscore, because Go's tools skip folders
// with an underscore in front. Go's tools fail if a searched folder disappears during the search.
func renderFolder(t *testing.T, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "_render-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// renderOverlay returns the manifest of an overlay with an additional component. An empty name means no component.
func renderOverlay(t *testing.T, overlay, component string) []byte {
	t.Helper()
	dir := renderFolder(t, ".")
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../overlays/" + overlay + "]\n"
	if component != "" {
		text += "components: [../components/" + component + "]\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kustomize: %v", err)
	}
	return out
}

// names returns the names of the objects of a kind in a manifest.
func names(t *testing.T, manifest []byte, kind string) (found []string) {
	t.Helper()
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var object metav1.PartialObjectMetadata
		if err := sigsyaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == kind {
			found = append(found, object.Name)
		}
	}
	return found
}
