package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// costProfileSeconds is the duration of a CPU profile of the work agent in seconds: about the time of a delivery.
const costProfileSeconds = 8

// profiler returns the address of the work agent's profiles, and the environment by which the agent serves the profiles
// (library-go, pkg/serviceability). Without Options.Profiles, both are empty.
func (o *CostOptions) profiler() (address string, env map[string][]string, err error) {
	if o.Profiles == "" {
		return "", nil, nil
	}
	if err := os.MkdirAll(o.Profiles, 0o755); err != nil {
		return "", nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := free.Addr().(*net.TCPAddr).Port
	return fmt.Sprintf("http://127.0.0.1:%d/debug/pprof", port), map[string][]string{
		workAgent: {"OPENSHIFT_PROFILE=web", "OPENSHIFT_PROFILE_PORT=" + strconv.Itoa(port)},
	}, free.Close()
}

// profile takes CPU profiles of the work agent, the hub's kube-apiserver and Towline during the phases with many changes,
// if Options.Profiles is set. The returned function waits for the end of the profiles.
func (c *agentCost) profile(ctx context.Context, phase string) (wait func() error) {
	if c.profiler == "" || !slices.Contains([]string{"deliver", "row", "burst", "delete"}, phase) {
		return func() error { return nil }
	}
	var all errgroup.Group
	take := func(client *http.Client, server, process string) {
		all.Go(func() error {
			url := fmt.Sprintf("%s/profile?seconds=%d", server, costProfileSeconds)
			return download(ctx, client, url, filepath.Join(c.Profiles, c.kind.name+"."+phase+"."+process+".cpu.pprof"))
		})
	}
	take(http.DefaultClient, c.profiler, workAgent)
	take(c.metrics, c.fleet.Hub.Server()+"/debug/pprof", "kube-apiserver")
	if c.controller != nil {
		take(http.DefaultClient, c.controller.Profiles, processTowline)
	}
	return all.Wait
}
