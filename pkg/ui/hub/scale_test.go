package hub

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	_ "github.com/towline-io/towline/pkg/fixture/withoutcgo" // `go` runs in this test
)

// users is the number of simultaneous readers.
const users = 20

// crowd creates a fleet with the given number of Applications, five on each cluster.
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

// viewers returns tokens of as many ServiceAccounts as users. Each may read all Applications and clusters.
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

// TestScale measures a `towline-ui` with a fleet of TOWLINE_UI_SCALE Applications and 20 readers: the first pages, the
// time until a change in each second reaches all readers, and the memory. TOWLINE_UI_BINARY is the measured program;
// the default is this tree's program.
func TestScale(t *testing.T) {
	applications, err := strconv.Atoi(os.Getenv("TOWLINE_UI_SCALE"))
	if err != nil {
		t.Skip("TOWLINE_UI_SCALE says how many Applications to measure with")
	}
	crowd(t.Context(), t, applications)
	tokens := viewers(t.Context(), t)
	program := os.Getenv("TOWLINE_UI_BINARY")
	if program == "" {
		program = filepath.Join(t.TempDir(), "towline-ui")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../cmd/towline-ui").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Run("one reader", func(t *testing.T) { measure(t, program, tokens[:1], applications) })
	t.Run("readers of one identity", func(t *testing.T) { measure(t, program, slices.Repeat(tokens[:1], users), applications) })
	t.Run("readers of as many identities", func(t *testing.T) { measure(t, program, tokens, applications) })
}

// measure logs the resources that a program needs for these readers.
func measure(t *testing.T, program string, tokens []string, applications int) {
	t.Helper()
	ctx := t.Context()
	base, pid := serve(t, program)
	all := func() (slowest time.Duration) {
		times := make([]time.Duration, len(tokens))
		var wait sync.WaitGroup
		for i, token := range tokens {
			wait.Go(func() {
				began := time.Now()
				if code, _ := look(ctx, t, base, token, "/?group=region"); code != http.StatusOK {
					t.Errorf("reader %d has got no page, but %d", i, code)
				}
				times[i] = time.Since(began)
			})
		}
		wait.Wait()
		return slices.Max(times).Round(time.Millisecond)
	}
	t.Logf("%d first pages at once: the last after %s", len(tokens), all())
	began := time.Now()
	var read sync.WaitGroup
	for _, token := range tokens { // at once: the program drops the data of an idle reader
		read.Go(func() { whole(t, base, token, fmt.Sprint(applications, " Applications")) })
	}
	read.Wait()
	t.Logf("all of it read after %s, at most %s", time.Since(began).Round(time.Millisecond), peak(t, pid))
	before := used(t, pid)
	t.Logf("%d pages of all of it at once: the last after %s, for %s of CPU time; at most %s", len(tokens), all(), used(t, pid)-before, peak(t, pid))

	lines := make([]*bufio.Scanner, len(tokens))
	for i, token := range tokens {
		lines[i] = listen(ctx, t, base, token, "/?group=region")
	}
	const changes = 10
	var first, last []time.Duration
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before = used(t, pid)
	for range changes {
		<-tick.C
		began := time.Now()
		change(ctx, t)
		times := make([]time.Duration, len(lines))
		var wait sync.WaitGroup
		for i, l := range lines {
			wait.Go(func() {
				if event(l, "c-cluster-0007") {
					times[i] = time.Since(began)
				}
			})
		}
		wait.Wait()
		if slices.Min(times) == 0 {
			t.Fatal("a stream has ended")
		}
		first, last = append(first, slices.Min(times)), append(last, slices.Max(times))
	}
	slices.Sort(first)
	slices.Sort(last)
	t.Logf("a change each second: at the first reader after %s, at all %d after %s, at most %s, for %s of CPU time each; at most %s",
		first[changes/2].Round(time.Millisecond), len(tokens), last[changes/2].Round(time.Millisecond), last[changes-1].Round(time.Millisecond),
		(used(t, pid)-before)/changes, peak(t, pid))
}

// readTimeout is the time limit for the first lists of all readers.
const readTimeout = 5 * time.Minute

// whole waits until a page has a text that proves a complete read. The function polls once a second, like a person.
func whole(t *testing.T, base, token, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
	defer cancel()
	for tick := time.Tick(time.Second); ; {
		if _, body := look(ctx, t, base, token, "/?problems=1"); strings.Contains(body, text) {
			return
		}
		select {
		case <-tick:
		case <-ctx.Done():
			t.Errorf("%q has not been read within %s", text, readTimeout)
			return
		}
	}
}

// change makes a cell change its colour.
func change(ctx context.Context, t *testing.T) {
	t.Helper()
	app := &argocd.Application{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: "crowd", Name: "cluster-0007-set-1"}, app); err != nil {
		t.Fatal(err)
	}
	before := app.DeepCopy()
	app.Status.Health.Status = map[string]string{"Healthy": "Degraded", "Degraded": "Healthy"}[app.Status.Health.Status]
	if err := admin.Patch(ctx, app, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// serve starts a `towline-ui` with the memory settings of its Deployment, and returns its address and process ID.
func serve(t *testing.T, program string) (base string, pid int) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, config.CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server := config.Host
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	cmd := exec.CommandContext(t.Context(), program, "--bind-address", address, "--api-server", server, "--api-server-ca", ca)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=96MiB", "GOGC=30")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return "http://" + address, cmd.Process.Pid
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// peak returns the peak memory of a process, as Linux counts the memory.
func peak(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

// used returns the CPU time of a process so far. Other programs on the machine do not affect the value.
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // proc_pid_stat(5): fields 14 and 15 are user and kernel time, in hundredths of a second
	var ticks int64
	for _, field := range strings.Fields(after)[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// listen follows a page.
func listen(ctx context.Context, t *testing.T, base, token, address string) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	if !event(lines, "") {
		t.Fatal("the stream has ended")
	}
	return lines
}

// event waits for the next event with a text, or for a reload of the whole page. The result is false if the stream has
// ended.
func event(lines *bufio.Scanner, text string) bool {
	for lines.Scan() {
		if lines.Text() == "event: reload" || strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}
