package migration

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// gracePeriod is the agent's flag for the time in which the agent keeps objects from a former source.
const gracePeriod = "--appliedmanifestwork-eviction-grace-period="

// TestMigration moves a fleet to Maestro and back while its Applications run.
func TestMigration(t *testing.T) {
	if os.Getenv("TOWLINE_MAESTRO_TEST") == "" {
		t.Skip("set TOWLINE_MAESTRO_TEST=1 to start a fleet with Maestro")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: filepath.Join(t.TempDir(), "fleet"), Clusters: fleet.ClusterNames(2), ArgoCD: []string{"2.14"}, Progress: os.Stderr,
		ExtraArgs: map[string][]string{
			// One agent keeps the objects of a former source until the test settles the source. The second agent
			// removes its records automatically.
			"cluster1/work-agent": {gracePeriod + "876000h"},
			"cluster2/work-agent": {gracePeriod + "30s"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	m := &move{T: t, fleet: f}
	m.install(ctx)
	m.remember(ctx)

	// To Maestro and back, with the remaining works in the hub's etcd.
	m.toMaestro(ctx, "create", 3)
	// An agent that still fetches from the hub gets the works of Maestro as soon as its watch ends.
	m.check(f.Cluster("cluster2").StopProcess(ctx, "work-agent"))
	m.check(f.Cluster("cluster2").StartProcess(ctx, "work-agent"))
	m.delivers(ctx, 3, "cluster2")
	m.agentsTo(ctx, fleet.TransportMaestro)
	m.delivers(ctx, 4, "cluster1", "cluster2")
	m.reports(ctx, "moved to Maestro")
	m.toHub(ctx, "update", 1)
	m.agentsTo(ctx, fleet.TransportHub)
	m.delivers(ctx, 5, "cluster1", "cluster2")
	m.reports(ctx, "moved back")

	// The second time, no works remain in the hub's etcd.
	m.toMaestro(ctx, "update", 1)
	m.agentsTo(ctx, fleet.TransportMaestro)
	m.clean(ctx)
	m.delivers(ctx, 6, "cluster1", "cluster2")
	m.deletes(ctx, "extra")
	m.toHub(ctx, "create", 2)
	m.agentsTo(ctx, fleet.TransportHub)
	m.delivers(ctx, 7, "cluster1", "cluster2")
	m.reports(ctx, "moved back again")
	m.deletes(ctx, "guestbook")
}

// toMaestro moves the hub's works to Maestro, as in chapter "Move a hub" of docs/maestro.md. changes is the number of
// creates or updates for each cluster.
func (m *move) toMaestro(ctx context.Context, verb string, changes int) {
	m.towline.Stop()
	if m.server == nil {
		m.check(m.fleet.Hub.StartMaestro(ctx))
		var err error
		m.server, err = towline.PrepareMaestro(ctx, m.fleet)
		m.check(err)
	} else {
		m.refuses(ctx, "another process writes into Maestro", "copy", "--to=maestro")
		m.server.Stop()
	}
	half := m.perCluster(ctx)
	m.migrates(ctx, sum("dry run, nothing is written", verb, 2*changes, 2*(half-changes)), "copy", "--to=maestro", "--dry-run")
	m.copies(ctx, "maestro", verb, half, changes)

	if m.server.Process == nil {
		m.check(m.server.Run(ctx))
	} else {
		m.check(m.server.Restart(ctx))
	}
	m.check(m.server.Serve(ctx))
	m.startTowline(ctx)
	m.worksAre(ctx, m.works)
	m.refuses(ctx, "does not serve the works of its own etcd", "copy", "--to=maestro")
	m.unchanged(ctx)
}

// copies copies the works in several runs, with the first run for one cluster only.
func (m *move) copies(ctx context.Context, to, verb string, half, changes int) {
	m.Helper()
	m.migrates(ctx, sum("done", verb, changes, half-changes), "copy", "--to="+to, "--cluster=cluster1")
	m.migrates(ctx, sum("done", verb, changes, 2*half-changes), "copy", "--to="+to)
	m.migrates(ctx, sum("done", verb, 0, 2*half), "copy", "--to="+to)
}

// agentsTo switches the clusters' work agents to a transport, one after the other.
func (m *move) agentsTo(ctx context.Context, transport string) {
	m.agentTo(ctx, "cluster1", transport)
	m.agentTo(ctx, "cluster2", transport)
}

// agentTo switches a cluster's work agent to a transport, and waits until its records of the former source are gone.
func (m *move) agentTo(ctx context.Context, cluster, transport string) {
	c := m.fleet.Cluster(cluster)
	source := m.fleet.Hub.Server()
	if transport == fleet.TransportMaestro {
		var err error
		source, err = m.fleet.Hub.BrokerAddress(ctx)
		m.check(err)
	}
	before := len(m.records(ctx, c))
	if _, err := m.server.Settle(ctx, c, source); err == nil {
		m.Fatalf("%s has records of a source that its agent does not have yet", cluster)
	}
	m.check(c.FetchWorks(ctx, transport))
	if cluster == "cluster1" {
		m.eventually(ctx, "the records of the earlier source can be removed", func() string {
			if _, err := m.server.Settle(ctx, c, source); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	m.eventually(ctx, "only the records of the present source are there", func() string {
		records := m.records(ctx, c)
		if len(records) == before && !slices.ContainsFunc(records, func(name string) bool { return !strings.HasPrefix(name, hash(source)) }) {
			return ""
		}
		return strings.Join(records, ", ")
	})
	m.unchanged(ctx)
}

// clean removes the works from the hub's etcd.
func (m *move) clean(ctx context.Context) {
	m.towline.Stop()
	m.check(m.server.Unserve(ctx))
	count := strings.Count(m.works, "\n")
	m.migrates(ctx, sum("dry run, nothing is written", "remove", count, 0), "clean", "--dry-run")
	m.migrates(ctx, sum("done", "remove", count, 0), "clean")
	if left := m.kubectl(ctx, &m.fleet.Hub.ControlPlane, "get", "manifestworks", "--all-namespaces", "-o", "name"); left != "" {
		m.Fatalf("the hub's etcd still has %s", left)
	}
	m.check(m.server.Serve(ctx))
	m.startTowline(ctx)
	m.worksAre(ctx, m.works)
}

// toHub moves the works back to the hub's etcd. changes is the number of creates or updates for each cluster.
func (m *move) toHub(ctx context.Context, verb string, changes int) {
	half := m.perCluster(ctx)
	m.towline.Stop()
	m.check(m.server.Unserve(ctx))
	m.copies(ctx, "hub", verb, half, changes)
	m.startTowline(ctx)
	m.unchanged(ctx)
}

// perCluster returns the number of works of each cluster.
func (m *move) perCluster(ctx context.Context) int {
	m.Helper()
	all := m.kubectl(ctx, &m.fleet.Hub.ControlPlane, "get", "manifestworks", "--all-namespaces", "-o", nameAndUID)
	return strings.Count(all, "\n") / len(m.fleet.Clusters())
}

// sum returns the last line of migrate's output.
func sum(done, verb string, count, kept int) string {
	n := map[string]int{verb: count}
	return fmt.Sprintf("%s: %d to create, %d to update, %d to remove, %d as they should be, 0 have to wait, 0 failed\n",
		done, n["create"], n["update"], n["remove"], kept)
}

// hash returns the prefix of an agent's records for a source.
func hash(source string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(source))) }
