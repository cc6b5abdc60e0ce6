package migration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// patience limits every wait, also on a busy machine.
const patience = 2 * time.Minute

// extra is a second Application for each cluster. The test deletes it.
const extra = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: extra-%[1]s
  namespace: argocd
  labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
  annotations: {apps.open-cluster-management.io/ocm-managed-cluster: %[1]s, argocd.argoproj.io/skip-reconcile: "true"}
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  project: default
  source: {repoURL: %[2]q, path: guestbook, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: extra}
  syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
`

// move is a fleet whose works move.
type move struct {
	*testing.T

	fleet   *fleet.Fleet
	towline *towline.Towline
	server  *towline.Maestro
	binary  string

	// works are the names and UIDs of the hub's works. objects are the names and UIDs of the running objects on each
	// cluster, by namespace.
	works   string
	objects map[string]string
}

func (m *move) check(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *move) kubectl(ctx context.Context, plane *fleet.ControlPlane, args ...string) string {
	m.Helper()
	out, err := plane.Kubectl(ctx, args...)
	m.check(err)
	return out
}

// eventually waits until said returns an empty string.
func (m *move) eventually(ctx context.Context, what string, said func() string) {
	m.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := said()
		if last == "" {
			return
		}
		select {
		case <-ctx.Done():
			m.Fatalf("not true within %s: %s: %s\nTowline's log ends with\n%s", patience, what, last, m.towline.LogTail(20))
		case <-ticker.C:
		}
	}
}

// install runs Towline, and delivers two Applications to each cluster.
func (m *move) install(ctx context.Context) {
	m.check(towline.Install(ctx, m.fleet))
	var err error
	m.binary, err = towline.Build(ctx, m.fleet)
	m.check(err)
	m.startTowline(ctx)
	m.check(towline.WaitImported(ctx, m.fleet))
	m.check(towline.Apply(ctx, m.fleet, &m.fleet.Hub.ControlPlane, "example/guestbook-app-set.yaml"))
	for _, c := range m.fleet.Clusters() {
		file := filepath.Join(m.TempDir(), "extra.yaml")
		m.check(os.WriteFile(file, fmt.Appendf(nil, extra, c.Name(), m.fleet.Git.URL(fleet.AppsRepo)), 0o600))
		m.kubectl(ctx, &m.fleet.Hub.ControlPlane, "apply", "-f", file)
	}
	for _, c := range m.fleet.Clusters() {
		for _, app := range []string{c.Name() + "-guestbook-app", "extra-" + c.Name()} {
			m.shows(ctx, app, "{.status.sync.status} {.status.health.status}", "Synced Healthy")
		}
	}
}

func (m *move) startTowline(ctx context.Context) {
	m.Helper()
	if m.towline != nil {
		m.check(m.towline.Restart(ctx))
		return
	}
	var err error
	m.towline, err = towline.Run(ctx, m.fleet, m.binary, "towline")
	m.check(err)
}

// migrates runs `towline-maestro migrate`, and checks the output.
func (m *move) migrates(ctx context.Context, want string, args ...string) {
	m.Helper()
	out, err := m.server.Migrate(ctx, args...)
	m.check(err)
	m.Logf("migrate %s\n%s", strings.Join(args, " "), out)
	if !strings.Contains(out, want) {
		m.Fatalf("migrate %s: %q is not in\n%s", strings.Join(args, " "), want, out)
	}
}

// refuses runs `towline-maestro migrate`, and checks that it fails with the message.
func (m *move) refuses(ctx context.Context, want string, args ...string) {
	m.Helper()
	out, err := m.server.Migrate(ctx, args...)
	if err == nil || !strings.Contains(out, want) {
		m.Fatalf("migrate %s: %q is not in\n%s, %v", strings.Join(args, " "), want, out, err)
	}
}

const nameAndUID = `jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid}{"\n"}{end}`

// remember records the objects that must stay: the works of the hub, and the Applications, Deployments, pods and
// further objects of each cluster.
func (m *move) remember(ctx context.Context) {
	m.works = m.kubectl(ctx, &m.fleet.Hub.ControlPlane, "get", "manifestworks", "--all-namespaces", "-o", nameAndUID)
	m.objects = map[string]string{}
	for _, c := range m.fleet.Clusters() {
		for _, app := range []string{"guestbook", "extra"} {
			m.objects[c.Name()+" "+app] = m.running(ctx, c, app)
		}
	}
	m.Logf("the works:\n%sthe guestbook on cluster1:\n%s", m.works, m.objects["cluster1 guestbook"])
}

// running returns the Application on a cluster, and the objects of the Application.
func (m *move) running(ctx context.Context, c *fleet.Cluster, app string) string {
	name := c.Name() + "-guestbook-app"
	if app == "extra" {
		name = "extra-" + c.Name()
	}
	return m.kubectl(ctx, &c.ControlPlane, "get", "--namespace=argocd", "applications.argoproj.io", name, "-o", "jsonpath={.metadata.uid}") + "\n" +
		m.kubectl(ctx, &c.ControlPlane, "get", "namespace", app, "-o", "jsonpath={.metadata.uid}") + "\n" +
		m.kubectl(ctx, &c.ControlPlane, "get", "--namespace="+app, "deployments,replicasets,pods,services", "-o", nameAndUID)
}

// unchanged fails if a remembered object has changed.
func (m *move) unchanged(ctx context.Context) {
	m.Helper()
	for key, want := range m.objects {
		cluster, app, _ := strings.Cut(key, " ")
		if now := m.running(ctx, m.fleet.Cluster(cluster), app); now != want {
			m.Fatalf("on %s, of %s there was\n%sand now there is\n%s", cluster, app, want, now)
		}
	}
}

// worksAre waits until the hub shows the works.
func (m *move) worksAre(ctx context.Context, want string) {
	m.Helper()
	m.eventually(ctx, "the works are those of before", func() string {
		now, err := m.fleet.Hub.Kubectl(ctx, "get", "manifestworks", "--all-namespaces", "-o", nameAndUID)
		if err != nil || now != want {
			return fmt.Sprintf("%s, %v", now, err)
		}
		return ""
	})
}

// shows waits until a field of a hub Application has the value.
func (m *move) shows(ctx context.Context, app, path, want string) {
	m.Helper()
	m.eventually(ctx, app+" shows "+want, func() string {
		out, err := m.fleet.Hub.Kubectl(ctx, "--namespace=argocd", "get", "applications.argoproj.io", app, "-o", "jsonpath="+path)
		if err == nil && out == want {
			return ""
		}
		return fmt.Sprintf("%s, %v", out, err)
	})
}

// delivers changes the guestbook's Applications on the hub, and waits until the clusters have the change.
func (m *move) delivers(ctx context.Context, limit int, clusters ...string) {
	m.Helper()
	m.kubectl(ctx, &m.fleet.Hub.ControlPlane, "--namespace=argocd", "patch", "applicationset", "guestbook-app-set", "--type=merge", "-p",
		fmt.Sprintf(`{"spec": {"template": {"spec": {"revisionHistoryLimit": %d}}}}`, limit))
	began := time.Now()
	for _, name := range clusters {
		c := m.fleet.Cluster(name)
		m.eventually(ctx, fmt.Sprintf("%s has a revisionHistoryLimit of %d", name, limit), func() string {
			out, err := c.Kubectl(ctx, "--namespace=argocd", "get", "applications.argoproj.io", name+"-guestbook-app",
				"-o", "jsonpath={.spec.revisionHistoryLimit}")
			if err == nil && out == fmt.Sprint(limit) {
				return ""
			}
			return fmt.Sprintf("%s, %v", out, err)
		})
	}
	m.Logf("a change was on %s after %s", strings.Join(clusters, " and "), time.Since(began).Round(time.Millisecond))
}

// reports makes a commit, and waits until the hub shows the revision for each cluster.
func (m *move) reports(ctx context.Context, what string) {
	m.Helper()
	revision, err := m.fleet.Git.Commit(ctx, fleet.AppsRepo, map[string]string{"guestbook/README.md": what}, what)
	m.check(err)
	for _, c := range m.fleet.Clusters() {
		app := c.Name() + "-guestbook-app"
		m.kubectl(ctx, &m.fleet.Hub.ControlPlane, "--namespace=argocd", "annotate", "--overwrite", "applications.argoproj.io", app,
			"argocd.argoproj.io/refresh=normal")
		m.shows(ctx, app, "{.status.sync.revision} {.status.health.status}", strings.TrimSpace(revision)+" Healthy")
	}
}

// deletes deletes an Application for each cluster, and waits until neither the hub nor the clusters have any of its
// objects.
func (m *move) deletes(ctx context.Context, app string) {
	m.Helper()
	what := []string{"applicationset", "guestbook-app-set"}
	if app == "extra" {
		what = []string{"applications.argoproj.io", "extra-cluster1", "extra-cluster2"}
	}
	m.kubectl(ctx, &m.fleet.Hub.ControlPlane, append([]string{"--namespace=argocd", "delete", "--wait=false"}, what...)...)
	for _, c := range m.fleet.Clusters() {
		m.eventually(ctx, "nothing of "+app+" is on "+c.Name(), func() string {
			out, err := c.Kubectl(ctx, "get", "--namespace="+app, "deployments,services", "-o", "name")
			if err != nil {
				return err.Error()
			}
			return out
		})
		delete(m.objects, c.Name()+" "+app)
	}
	m.eventually(ctx, "the hub has no work of "+app, func() string {
		out, err := m.fleet.Hub.Kubectl(ctx, "get", "manifestworks", "--all-namespaces", "-o", "name")
		if err != nil {
			return err.Error()
		}
		if strings.Contains(out, app) {
			return out
		}
		return ""
	})
}

// records returns the agent's records of works on a cluster.
func (m *move) records(ctx context.Context, c *fleet.Cluster) []string {
	m.Helper()
	return strings.Fields(m.kubectl(ctx, &c.ControlPlane, "get", "appliedmanifestworks", "-o", "jsonpath={.items[*].metadata.name}"))
}
