package main

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// clusterManager creates the ClusterManager of Open Cluster Management's operator, with the feature gate
// NilExecutorValidating.
func clusterManager(t *testing.T) {
	t.Helper()
	const group = "operator.open-cluster-management.io"
	schema := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "clustermanagers." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "clustermanagers", Kind: "ClusterManager", ListKind: "ClusterManagerList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
			}},
		},
	}
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	if _, err := envtest.InstallCRDs(env.Config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(env.Config, options); err != nil {
			t.Error(err)
		}
	})
	manager := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion": "`+group+`/v1", "kind": "ClusterManager", "metadata": {"name": "cluster-manager"},
		"spec": {"workConfiguration": {"featureGates": [{"feature": "NilExecutorValidating", "mode": "Enable"}]}}}`), &manager.Object); err != nil {
		t.Fatal(err)
	}
	create(t, manager)
}

// TestCheckNilExecutor checks a hub that restricts works without an executor. The check tests the right of Towline's
// account to create them.
func TestCheckNilExecutor(t *testing.T) {
	clusterManager(t)
	space(t, "gated")
	bindTowline(t, "gated")
	says := func(user string) func() string {
		return func() string {
			out, _ := checks(t, user)
			lines := strings.Split(out, "\n")
			for i, line := range lines {
				if strings.Contains(line, "executors") {
					return strings.Join(lines[i:i+2], "\n")
				}
			}
			return ""
		}
	}
	g := NewWithT(t)
	g.Expect(says("")()).To(And(
		ContainSubstring("NilExecutorValidating is on, and ServiceAccount gated/towline-controller may not create ManifestWorks without an executor"),
		ContainSubstring("execute-as on manifestworks.work.open-cluster-management.io with the resource name system:serviceaccount::klusterlet-work-sa")))
	create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "towline-controller"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"work.open-cluster-management.io"}, Resources: []string{"manifestworks"}, Verbs: []string{"execute-as"},
		ResourceNames: []string{"system:serviceaccount::klusterlet-work-sa"},
	}}})
	g.Eventually(says(""), "20s", "100ms").Should(ContainSubstring("Towline has the right that the gate asks for"))
}
