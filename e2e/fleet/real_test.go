package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
)

// needReal skips a test unless real fleets are wanted. A start takes half a minute with built programs, and minutes
// without. These tests are for work on the fleet: the end-to-end suite uses real fleets too.
func needReal(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("TOWLINE_FLEET_TEST") == "" {
		t.Skip("set TOWLINE_FLEET_TEST=1 to start real fleets")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// eventually repeats a kubectl command until its output is the wanted output.
func eventually(ctx context.Context, t *testing.T, c *fleet.ControlPlane, want string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for ; ; <-time.After(200 * time.Millisecond) {
		out, err := c.Kubectl(ctx, args...)
		if err == nil && strings.TrimSpace(out) == want {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("kubectl %v: %q, %v; want %q", args, out, err, want)
		}
	}
}

const available = `jsonpath={.status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status}`

func TestRealFleet(t *testing.T) {
	ctx := needReal(t)
	dir := filepath.Join(t.TempDir(), "fleet")
	own, err := fleet.Start(ctx, fleet.Options{Dir: dir, Clusters: fleet.ClusterNames(1), AuditLog: true, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	if _, err := fleet.Start(ctx, fleet.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "runs in") {
		t.Errorf("a second start: %v", err)
	}
	f, err := fleet.Connect(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	cluster := f.Cluster("cluster1")
	t.Run("a cluster that is cut off becomes Unknown, and returns", func(t *testing.T) {
		check(t, cluster.StopAgent(ctx))
		eventually(ctx, t, &f.Hub.ControlPlane, "Unknown", "get", "managedcluster", "cluster1", "-o", available)
		check(t, cluster.StartAgent(ctx))
		eventually(ctx, t, &f.Hub.ControlPlane, "True", "get", "managedcluster", "cluster1", "-o", available)
	})
	t.Run("an API server keeps its data", func(t *testing.T) {
		_, err := cluster.Kubectl(ctx, "create", "configmap", "kept")
		check(t, err)
		check(t, cluster.StopAPIServer(ctx))
		check(t, cluster.StartAPIServer(ctx))
		eventually(ctx, t, &cluster.ControlPlane, "kept", "get", "configmap", "kept", "-o", "jsonpath={.metadata.name}")
	})
	t.Run("etcd too", func(t *testing.T) {
		check(t, f.Hub.StopProcess(ctx, "etcd"))
		check(t, f.Hub.StartProcess(ctx, "etcd"))
		eventually(ctx, t, &f.Hub.ControlPlane, "cluster1", "get", "managedcluster", "cluster1", "-o", "jsonpath={.metadata.name}")
	})
	t.Run("a cluster is imported again", func(t *testing.T) {
		_, err := f.Hub.Kubectl(ctx, "delete", "managedcluster", "cluster1", "--timeout=60s")
		check(t, err)
		check(t, cluster.Import(ctx))
	})
	t.Run("a cluster is rebuilt", func(t *testing.T) {
		check(t, cluster.Rebuild(ctx))
		if out, err := cluster.Kubectl(ctx, "get", "configmap", "kept"); err == nil {
			t.Errorf("the old data is there: %s", out)
		}
	})
	t.Run("a cluster has a network of its own, and returns", func(t *testing.T) { isolated(ctx, t, f, cluster) })
	t.Run("the first argument names a part", func(t *testing.T) {
		program, err := filepath.EvalSymlinks(f.Program("kubectl"))
		check(t, err)
		out, err := exec.CommandContext(ctx, program, "kustomize", "version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "v") {
			t.Errorf("%s, %v", out, err)
		}
	})
	t.Run("a user has the rights it was granted", func(t *testing.T) {
		file, err := f.Hub.UserKubeconfig("somebody", "nobodies")
		check(t, err)
		out, err := f.Hub.Kubectl(ctx, "--kubeconfig", file, "auth", "can-i", "get", "secrets")
		if err == nil || !strings.Contains(out, "no") {
			t.Errorf("got %s, %v", out, err)
		}
	})
	t.Run("argocd-server knows its admin", func(t *testing.T) { login(ctx, t, f.Hub) })
	t.Run("the audit log is written", func(t *testing.T) {
		if info, err := os.Stat(f.Hub.AuditLog()); err != nil || info.Size() == 0 {
			t.Errorf("%v, %v", info, err)
		}
	})
	t.Run("a program is run beside it", func(t *testing.T) { runBeside(ctx, t, f) })
}

// isolated checks that an isolated cluster reaches the hub's API server and not the Git server, and that the processes outside
// reach the cluster. Only root makes network namespaces.
func isolated(ctx context.Context, t *testing.T, f *fleet.Fleet, cluster *fleet.Cluster) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	git := func() (string, error) {
		out, err := cluster.CombinedOutput(ctx, "git", "ls-remote", f.Git.URL(fleet.AppsRepo))
		return string(out), err
	}
	renewed := func() string {
		out, err := f.Hub.Kubectl(ctx, "get", "lease", "managed-cluster-lease", "--namespace=cluster1", "--output=jsonpath={.spec.renewTime}")
		check(t, err)
		return out
	}
	back, err := cluster.Isolate(ctx)
	check(t, err)
	if _, err := cluster.Isolate(ctx); err == nil {
		t.Error("the cluster was isolated twice")
	}
	if out, err := git(); err == nil || !strings.Contains(out, "Failed to connect") {
		t.Errorf("the isolated cluster asks the Git server: %s, %v", out, err)
	}
	for before := renewed(); renewed() == before; <-time.After(200 * time.Millisecond) {
		check(t, ctx.Err())
	}
	_, err = cluster.Kubectl(ctx, "get", "namespaces")
	check(t, err)
	check(t, back(ctx))
	_, err = git()
	check(t, err)
	_, err = cluster.Kubectl(ctx, "get", "namespaces")
	check(t, err)
}

func login(ctx context.Context, t *testing.T, hub *fleet.Hub) {
	t.Helper()
	password, err := hub.ArgoCDPassword(ctx)
	check(t, err)
	body, err := json.Marshal(map[string]string{"username": "admin", "password": password})
	check(t, err)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hub.ArgoCDURL()+"/api/v1/session", strings.NewReader(string(body)))
	check(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", response.Status, text)
	}
}

func runBeside(ctx context.Context, t *testing.T, f *fleet.Fleet) {
	t.Helper()
	run, err := f.Run(ctx, fleet.Command{Name: "beside", Path: "/bin/sh", Args: []string{"-c", "echo hello; sleep 300"}})
	check(t, err)
	pid := run.PID()
	check(t, run.Kill())
	check(t, run.Restart(ctx))
	if run.PID() == pid || run.Err() != nil {
		t.Errorf("not restarted: %v", run.Err())
	}
	run.Stop()
	if run.Err() == nil {
		t.Error("it did not end")
	}
	_, err = f.Run(ctx, fleet.Command{
		Name: "broken", Path: "/bin/sh", Args: []string{"-c", "echo the reason; exit 1"},
		Ready: func(context.Context) error { return errors.New("not yet") },
	})
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v", err)
	}
}

func TestRealFleetThatDoesNotComeUp(t *testing.T) {
	ctx := needReal(t)
	dir := filepath.Join(t.TempDir(), "fleet")
	_, err := fleet.Start(ctx, fleet.Options{
		Dir: dir, Clusters: fleet.ClusterNames(1), Progress: os.Stderr,
		ExtraArgs: map[string][]string{"cluster1/kube-scheduler": {"--nonsense"}},
	})
	if err == nil {
		t.Fatal("it came up")
	}
	for _, want := range []string{"cluster1-kube-scheduler did not come up", "unknown flag: --nonsense", "cluster1-kube-scheduler.log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message lacks %q:\n%v", want, err)
		}
	}
	if _, err := fleet.ReadStatus(ctx, dir); err == nil {
		t.Error("something was left up")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
