package hub

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controllerIn returns a Deployment with Towline's labels and the given arguments, in a namespace of its own.
func controllerIn(namespace string, args ...string) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "towline", "app.kubernetes.io/component": "controller"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "towline-controller", Labels: labels},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{ServiceAccountName: "towline-controller", Containers: []corev1.Container{
				{Name: "c", Image: "x", Args: append([]string{"controller"}, args...)},
			}},
		}},
	}
}

// TestATenantsDeploymentSteersNoPage uses a tenant's Deployment with Towline's labels, in the first namespace of the
// hub's list.
func TestATenantsDeploymentSteersNoPage(t *testing.T) {
	ctx := t.Context()
	for _, ns := range []string{"steer-a-tenant", "steer-towline"} {
		create(ctx, t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	}
	create(ctx, t, controllerIn("steer-a-tenant", "--argocd-namespace=steer-evil", "--cluster-authorization=none", "--on-revocation=delete"),
		controllerIn("steer-towline", "--cluster-authorization=placement"),
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "towline-controller"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "towline-controller"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "steer-towline", Name: "towline-controller"}},
		})
	c, err := connect(config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := (&reader{WithWatch: c}).explainer(ctx, Flags{})
	if err != nil || e.ArgoCDNamespace != "steer-towline" || e.Clusters != "placement" || e.Options.Revocation.Delete {
		t.Errorf("the page believes %+v, %v", e, err)
	}
}
