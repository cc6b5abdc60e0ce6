package deploy_test

import (
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestUserRoles: users with the role view, edit or admin in a namespace may read Towline's objects in the namespace,
// but not write the objects.
func TestUserRoles(t *testing.T) {
	const aggregate = "rbac.authorization.k8s.io/aggregate-to-"
	rights := []string{
		"[get list watch] [multiclusterapplicationsetreports applicationreports gitopsclusters]", "[get] [managedresources]",
	}
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
		var got []string
		for _, rule := range role.Rules {
			got = append(got, fmt.Sprint(rule.Verbs, " ", rule.Resources))
		}
		if !slices.Equal(got, rights) {
			t.Errorf("%s gives every tenant %q, want %q", role.Name, got, rights)
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
