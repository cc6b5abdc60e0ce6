package hub

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/ui"
)

// users look at the same time.
const users = 20

// crowd makes a fleet of so many Applications, five on each cluster.
func crowd(ctx context.Context, t *testing.T, applications int) {
	t.Helper()
	create(ctx, t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "crowd"}})
	work, failed := make(chan int), make(chan error, 1)
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for i := range work {
				a := anApplication("crowd", fmt.Sprintf("set-%d", i%5), fmt.Sprintf("cluster-%04d", i/5))
				if i%97 == 0 {
					a.Status.Health = argocd.Health{Status: "Degraded", Message: "a Deployment has no pods"}
				}
				err := admin.Create(ctx, a)
				if i%5 == 0 && err == nil {
					m := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cluster-%04d", i/5),
						Labels: map[string]string{"region": []string{"eu", "us", "ap"}[i/5%3], "vendor": "OpenShift", "cloud": "Amazon"}}}
					m.Spec.HubAcceptsClient = true
					err = admin.Create(ctx, m)
				}
				if err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for i := range applications {
		work <- i
	}
	close(work)
	wait.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
}

// viewers are tokens of so many ServiceAccounts that may read all Applications and clusters.
func viewers(ctx context.Context, t *testing.T) []string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "viewers"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "viewers"}}
	var out []string
	for i := range users {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "crowd", Name: fmt.Sprintf("viewer-%d", i)}}
		create(ctx, t, account)
		request := &authenticationv1.TokenRequest{}
		if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
			t.Fatal(err)
		}
		out = append(out, request.Status.Token)
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "crowd", Name: account.Name})
	}
	create(ctx, t, binding, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "viewers"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"cluster.open-cluster-management.io"}, Resources: []string{"managedclusters"}, Verbs: []string{"get", "list", "watch"}},
	}})
	return out
}

// TestScale measures a fleet of TOWLINE_UI_SCALE Applications: the first page, a change on it, and what 20 users take. With
// TOWLINE_UI_DIR it asks a `towline-ui` in another process, as outside has it.
func TestScale(t *testing.T) {
	applications, err := strconv.Atoi(os.Getenv("TOWLINE_UI_SCALE"))
	if err != nil {
		t.Skip("TOWLINE_UI_SCALE says how many Applications to measure with")
	}
	ctx := t.Context()
	began := time.Now()
	crowd(ctx, t, applications)
	t.Logf("made after %s", time.Since(began))
	tokens := viewers(ctx, t)
	server := httptest.NewServer(ui.Proxied(ui.Handler(NewTokens(ctx, config, Flags{}))))
	t.Cleanup(server.Close) // after the streams, which it would wait for
	if dir := os.Getenv("TOWLINE_UI_DIR"); dir != "" {
		outside(t, dir, tokens, server)
	}
	began = time.Now()
	_, body := look(ctx, t, server, tokens[0], "/?group=region")
	t.Logf("first page: %s, %d bytes, %d cells", time.Since(began).Round(time.Millisecond), len(body), strings.Count(body, "<td class"))
	for i, token := range tokens {
		began := time.Now()
		for body := ""; !strings.Contains(body, fmt.Sprint(applications, " Applications")); {
			_, body = look(ctx, t, server, token, "/")
		}
		if i < 3 {
			t.Logf("user %d: all of it after %s", i, time.Since(began).Round(time.Millisecond))
		}
	}
	began = time.Now()
	look(ctx, t, server, tokens[0], "/?group=region")
	t.Logf("a later page: %s", time.Since(began).Round(time.Millisecond))

	lines := make([]*bufio.Scanner, len(tokens))
	for i, token := range tokens {
		lines[i] = listen(ctx, t, server, token, "/?group=region")
	}
	for range 5 {
		app := &argocd.Application{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: "crowd", Name: "cluster-0007-set-1"}, app); err != nil {
			t.Fatal(err)
		}
		before := app.DeepCopy()
		app.Status.Health.Status = map[string]string{"Healthy": "Degraded", "Degraded": "Healthy"}[app.Status.Health.Status]
		if err := admin.Patch(ctx, app, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		event(t, lines[0], "c-cluster-0007")
		first := time.Since(began)
		for _, l := range lines[1:] {
			event(t, l, "c-cluster-0007")
		}
		t.Logf("a change: %s for the first, %s for all %d", first.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), users)
	}
}

// outside leaves in a folder what a `towline-ui` needs, and waits for the file "go" there, which has its address.
func outside(t *testing.T, dir string, tokens []string, server *httptest.Server) {
	t.Helper()
	for name, data := range map[string][]byte{
		"tokens": []byte(strings.Join(tokens, "\n")), "ca.crt": config.CAData, "server": []byte(config.Host), "client.crt": config.CertData,
		"client.key": config.KeyData,
	} {
		if err := os.WriteFile(dir+"/"+name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		if address, err := os.ReadFile(dir + "/go"); err == nil {
			server.URL = strings.TrimSpace(string(address))
			break
		}
		<-time.After(100 * time.Millisecond)
	}
}

// listen follows a page.
func listen(ctx context.Context, t *testing.T, server *httptest.Server, token, address string) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	event(t, lines, "")
	return lines
}

// event waits for the next event with a text.
func event(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatal("the stream has ended")
}
