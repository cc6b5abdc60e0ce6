package deploy_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestUserRoles: users with the role view, edit or admin in a namespace may read Towline's objects in the namespace,
// but not write the objects.
func TestUserRoles(t *testing.T) {
	const aggregate = "rbac.authorization.k8s.io/aggregate-to-"
	reads := []string{"get", "list", "watch"}
	aggregated := 0
	for _, role := range documents[rbacv1.ClusterRole](t, "ClusterRole") {
		if role.Labels[aggregate+"view"]+role.Labels[aggregate+"edit"]+role.Labels[aggregate+"admin"] == "" {
			continue
		}
		aggregated++
		for _, to := range []string{"view", "edit", "admin"} {
			if role.Labels[aggregate+to] != "true" {
				t.Errorf("%s is not part of %s", role.Name, to)
			}
		}
		for _, rule := range role.Rules {
			if !slices.Equal(rule.Verbs, reads) {
				t.Errorf("%s lets every tenant %v %v", role.Name, rule.Verbs, rule.Resources)
			}
			if want := []string{"multiclusterapplicationsetreports", "applicationreports", "gitopsclusters"}; !slices.Equal(rule.Resources, want) {
				t.Errorf("%s is for %v, want %v", role.Name, rule.Resources, want)
			}
		}
	}
	if aggregated != 1 {
		t.Errorf("%d ClusterRoles are part of those of Kubernetes, want 1", aggregated)
	}
	for _, binding := range documents[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if binding.RoleRef.Name == "towline-view" || binding.RoleRef.Name == "towline-gitopscluster-editor" {
			t.Errorf("%s gives %s to somebody", binding.Name, binding.RoleRef.Name)
		}
	}
}
