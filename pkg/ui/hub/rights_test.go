package hub

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/ui"
)

// anApplication returns an Application of an ApplicationSet on a cluster.
func anApplication(namespace, set, cluster string) *argocd.Application {
	controller := true
	a := &argocd.Application{}
	a.Namespace, a.Name = namespace, cluster+"-"+set
	a.Labels, a.Annotations = map[string]string{apis.LabelPull: "true"}, map[string]string{apis.AnnotationCluster: cluster}
	a.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set, UID: "1", Controller: &controller,
	}}
	a.Status.Health.Status = "Healthy"
	a.Status.Sync = &argocd.Sync{Status: "Synced", Revision: "abc"}
	return a
}

// tenant creates a namespace with an Application, and returns a token that may read only the Applications in this
// namespace.
func tenant(ctx context.Context, t *testing.T, name string) (token string, binding *rbacv1.RoleBinding) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: name, Name: "reader"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	binding = &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: name, Name: "reader"}},
	}
	create(ctx, t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, account, anApplication(name, "set-of-"+name, "cluster1"),
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"get", "list", "watch"}},
		}}, binding)
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token, binding
}

// look opens a page with a token.
func look(ctx context.Context, t *testing.T, base, token, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// shows waits until a page has a text.
func shows(ctx context.Context, t *testing.T, server *httptest.Server, token, address, text string) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		code, body := look(ctx, t, server.URL, token, address)
		if code == http.StatusOK && strings.Contains(body, text) {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not show %q: %d\n%s", address, text, code, body)
		}
	}
}

// TestRights checks that each tenant sees only the objects that the API server allows now, independent of earlier reads
// by other tenants.
func TestRights(t *testing.T) {
	ctx := t.Context()
	a, binding := tenant(ctx, t, "tenant-a")
	b, _ := tenant(ctx, t, "tenant-b")
	server := httptest.NewServer(ui.Proxied(ui.TokenHeader, ui.Handler(NewTokens(ctx, config, Flags{}))))
	defer server.Close()

	shows(ctx, t, server, b, "/?namespace=tenant-b", "set-of-tenant-b") // the reads of tenant B are in memory from now on
	shows(ctx, t, server, a, "/applications/tenant-a/cluster1-set-of-tenant-a?namespace=tenant-a", "set-of-tenant-a")
	for _, address := range []string{"/?namespace=tenant-a", "/applications/tenant-a/cluster1-set-of-tenant-a?namespace=tenant-a",
		"/sets/tenant-a/set-of-tenant-a?namespace=tenant-a", "/clusters?namespace=tenant-a", "/clusters/cluster1?namespace=tenant-a",
		"/attention?namespace=tenant-a"} {
		code, body := look(ctx, t, server.URL, a, address)
		if code != http.StatusOK || strings.Contains(body, "tenant-b") {
			t.Errorf("%s: %d %s", address, code, body)
		}
	}
	shows(ctx, t, server, a, "/", "You may not list Applications of all namespaces")
	body := shows(ctx, t, server, a, "/?namespace=tenant-b", "You may not list Applications in namespace tenant-b")
	if strings.Contains(body, "set-of-tenant-b") {
		t.Error("A sees an Application of B")
	}
	for _, address := range []string{"/applications/tenant-b/cluster1-set-of-tenant-b", "/applications/tenant-b/none"} {
		if code, body := look(ctx, t, server.URL, a, address); code != http.StatusForbidden {
			t.Errorf("%s: %d %s", address, code, body)
		}
	}
	for _, token := range []string{"", "nonsense", a + "x"} {
		for _, address := range []string{"/", "/?namespace=tenant-a", "/applications/tenant-a/cluster1-set-of-tenant-a"} {
			if code, body := look(ctx, t, server.URL, token, address); code != http.StatusUnauthorized || strings.Contains(body, "set-of") {
				t.Errorf("%s with token %q: %d %s", address, token, code, body)
			}
		}
	}

	if err := admin.Delete(ctx, binding); err != nil {
		t.Fatal(err)
	}
	body = shows(ctx, t, server, a, "/?namespace=tenant-a", "You may not list Applications in namespace")
	if strings.Contains(body, "set-of-tenant-a") {
		t.Error("A sees what A may not read any more")
	}
}

// TestDiagnosis checks that an Application's page shows the path with the rights of a tenant, and names the unreadable
// objects.
func TestDiagnosis(t *testing.T) {
	ctx := t.Context()
	token, _ := tenant(ctx, t, "tenant-c")
	server := httptest.NewServer(ui.Proxied(ui.TokenHeader, ui.Handler(NewTokens(ctx, config, Flags{}))))
	defer server.Close()
	body := shows(ctx, t, server, token, "/applications/tenant-c/cluster1-set-of-tenant-c?namespace=tenant-c", "The way to the cluster")
	for _, want := range []string{"not allowed: get manifestworks.work.open-cluster-management.io in namespace cluster1", "You may not list events here",
		"kubectl towline sync -n tenant-c cluster1-set-of-tenant-c"} {
		if !strings.Contains(body, want) {
			t.Errorf("does not say %q:\n%s", want, body)
		}
	}
}

// TestFollow checks that the page shows changes, and removes deleted objects.
func TestFollow(t *testing.T) {
	ctx := t.Context()
	create(ctx, t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "follow"}})
	app := anApplication("follow", "set", "cluster9")
	create(ctx, t, app)
	one, err := NewOne(ctx, config, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(ui.Handler(one))
	defer server.Close()
	shows(ctx, t, server, "", "/?namespace=follow", "follow/set on cluster9: well")
	before := app.DeepCopy()
	app.Status.Health.Status = "Degraded"
	if err := admin.Patch(ctx, app, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	shows(ctx, t, server, "", "/?namespace=follow", "follow/set on cluster9: stopped, Degraded")
	if err := admin.Delete(ctx, app); err != nil {
		t.Fatal(err)
	}
	shows(ctx, t, server, "", "/?namespace=follow", "No Application of an ApplicationSet matches")
}
