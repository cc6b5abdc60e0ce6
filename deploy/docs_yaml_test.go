package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// kustomization has the fields of a kustomization.yaml used in the documentation.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`

	Namespace  string   `json:"namespace"`
	Resources  []string `json:"resources"`
	Components []string `json:"components"`
	Images     []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
}

// documentedKinds are the Go types of the documented objects, by API version and kind.
var documentedKinds = map[string]func() any{
	"addon.open-cluster-management.io/v1alpha1 AddOnDeploymentConfig":           func() any { return &addonv1alpha1.AddOnDeploymentConfig{} },
	"addon.open-cluster-management.io/v1alpha1 ManagedClusterAddOn":             func() any { return &addonv1alpha1.ManagedClusterAddOn{} },
	"apps.open-cluster-management.io/v1beta1 GitOpsCluster":                     func() any { return &v1beta1.GitOpsCluster{} },
	"apps.open-cluster-management.io/v1alpha1 MulticlusterApplicationSetReport": func() any { return &v1alpha1.MulticlusterApplicationSetReport{} },
	"kustomize.config.k8s.io/v1beta1 Kustomization":                             func() any { return &kustomization{} },
	"networking.k8s.io/v1 NetworkPolicy":                                        func() any { return &networkingv1.NetworkPolicy{} },
	"operator.open-cluster-management.io/v1 ClusterManager":                     func() any { return &operatorv1.ClusterManager{} },
	"rbac.authorization.k8s.io/v1 ClusterRole":                                  func() any { return &rbacv1.ClusterRole{} },
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding":                           func() any { return &rbacv1.ClusterRoleBinding{} },
}

// documentedParts are the Go types of documented parts of objects, by the top-level keys of a part.
var documentedParts = map[string]func() any{
	"args": func() any { return &corev1.Container{} },
	"metadata": func() any {
		return &struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}{}
	},
	"extraEnv": func() any {
		return &struct {
			ExtraEnv []corev1.EnvVar `json:"extraEnv"`
		}{}
	},
	"spec":                 func() any { return &struct{ Spec clusterv1beta1.PlacementSpec }{} },
	"components":           func() any { return &kustomization{} },
	"components resources": func() any { return &kustomization{} },
}

// documentSeparator matches the line between two objects of a file.
var documentSeparator = regexp.MustCompile(`(?m)^---$`)

// checkYAML decodes each object of a block strictly, and compares Towline's labels and annotations with the keys in the
// code. checkYAML returns the number of decoded objects.
func checkYAML(t *testing.T, b block) (count int) {
	t.Helper()
	for _, doc := range documentSeparator.Split(b.Text, -1) {
		var keys map[string]any
		if err := sigsyaml.UnmarshalStrict([]byte(doc), &keys); err != nil {
			t.Errorf("%s:%d: %v", b.Page, b.Line, err)
			continue
		}
		what := strings.Join(slices.Sorted(maps.Keys(keys)), " ")
		into := documentedParts[what]
		if kind, is := keys["kind"].(string); is {
			version, _ := keys["apiVersion"].(string)
			what = version + " " + kind
			into = documentedKinds[what]
		}
		if into == nil {
			t.Errorf("%s:%d: nothing checks YAML that is %q", b.Page, b.Line, what)
			continue
		}
		object := into()
		if err := sigsyaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Errorf("%s:%d: %s: %v", b.Page, b.Line, what, err)
		}
		if k, is := object.(*kustomization); is {
			for _, path := range append(k.Components, k.Resources...) {
				checkKustomizePath(t, b, path)
			}
		}
		checkKeys(t, b)
		t.Logf("%s:%d: decoded %s", b.Page, b.Line, what)
		count++
	}
	return count
}

// checkKustomizePath fails the test if a folder in a documented overlay is missing.
func checkKustomizePath(t *testing.T, b block, path string) {
	t.Helper()
	if _, inside, is := strings.Cut(path, "towline/deploy/"); is { // a clone of the repository beside the reader's files
		path = filepath.Join("../..", inside)
	}
	if _, err := os.Stat(filepath.Join("overlays/argocd", path)); err != nil {
		t.Errorf("%s:%d: an overlay has no %s", b.Page, b.Line, path)
	}
}

var ofTowline = regexp.MustCompile(`(apps\.open-cluster-management\.io/[a-z-]+)['": =-]`)

// checkKeys fails the test if a label or an annotation of Towline's group is missing from docs/reference/keys.md.
func checkKeys(t *testing.T, b block) {
	t.Helper()
	known, err := os.ReadFile("../docs/reference/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ofTowline.FindAllStringSubmatch(b.Text, -1) {
		key := strings.TrimSuffix(m[1], "-") // A "-" after the key is kubectl's syntax to remove a label or an annotation.
		if !strings.Contains(string(known), "`"+key+"`") {
			t.Errorf("%s:%d: there is no %s", b.Page, b.Line, key)
		}
	}
}
