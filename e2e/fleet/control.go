package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A control sends requests to a running fleet, in this process or in another process.
type control interface {
	status(ctx context.Context) (Status, error)
	// act runs an action on a plane. what names a process or a group, if the action takes one.
	act(ctx context.Context, action, plane, what string) error
}

// The actions of a control.
const (
	actStop      = "stop"
	actStart     = "start"
	actRebuild   = "rebuild"
	actImport    = "import"
	actDown      = "down"
	actJoin      = "join"
	actLeave     = "leave"
	actHubArgo   = "hub-argocd"
	actCommits   = "commit-server"
	actMaestro   = "maestro"
	actSource    = "source"
	actJoinHub   = "join-hub"
	actProvision = "provision"
	actOperate   = "operate"
	actIsolate   = "isolate"
	actConnect   = "connect"
)

// localControl calls the supervisor of this process.
type localControl struct{ s *supervisor }

func (c localControl) status(ctx context.Context) (Status, error) {
	status := c.s.status()
	c.s.addAvailability(ctx, &status)
	return status, nil
}

func (c localControl) act(ctx context.Context, action, plane, what string) error {
	switch action {
	case actStop:
		return c.s.stopProcess(ctx, plane, what)
	case actStart:
		return c.s.startProcess(ctx, plane, what)
	case actHubArgo:
		return c.s.hub.startHubArgo(ctx, what)
	case actJoin:
		return c.s.addCluster(ctx, plane)
	case actProvision:
		return c.s.provisionCluster(ctx, plane)
	case actOperate:
		return c.s.operateKlusterlet(ctx, plane)
	case actJoinHub:
		return c.s.addHub(ctx, plane, what)
	case actLeave:
		return c.s.removeCluster(ctx, plane)
	case actMaestro:
		return c.s.addMaestro(ctx)
	case actIsolate, actConnect:
		return c.s.network(ctx, action, plane, strings.Fields(what))
	case actRebuild, actImport, actCommits, actSource:
		return c.s.clusterAction(ctx, action, plane, what)
	}
	return fmt.Errorf("a fleet cannot %q", action)
}

// network moves a plane into a network namespace, or back.
func (s *supervisor) network(ctx context.Context, action, name string, reach []string) error {
	p := s.planeOf(name)
	switch {
	case p == nil:
		return fmt.Errorf("%q does not exist: this fleet has %v", name, s.planeNames())
	case action == actIsolate:
		return p.isolate(ctx, reach)
	}
	return p.reconnect(ctx)
}

func (s *supervisor) clusterAction(ctx context.Context, action, name, what string) error {
	cluster := s.planeOf(name)
	if cluster == nil || cluster == s.hub {
		return fmt.Errorf("managed cluster %q does not exist: this fleet has %v", name, s.planeNames()[1:])
	}
	switch action {
	case actRebuild:
		return cluster.rebuild(ctx)
	case actCommits:
		return cluster.startCommitServer(ctx)
	case actSource:
		return cluster.changeSource(ctx, what)
	}
	return cluster.importAgain(ctx)
}

// addAvailability adds to the status which clusters are Available. Without an answer of the hub, the field stays empty.
func (s *supervisor) addAvailability(ctx context.Context, status *Status) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.mu.Lock()
	var hub client.Client
	if s.hub != nil {
		hub = s.hub.client
	}
	s.mu.Unlock()
	if hub == nil {
		return
	}
	for i, plane := range status.Planes {
		if plane.Name != hubName {
			status.Planes[i].Available = availability(ctx, hub, plane.Name)
		}
	}
}

// serveControl listens on the fleet's socket.
func serveControl(s *supervisor) (io.Closer, error) {
	socket := s.paths.socket()
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	// A client that can connect controls the fleet.
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: controlHandler(s), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return server, nil
}

func controlHandler(s *supervisor) http.Handler {
	local := localControl{s}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, _ := local.status(r.Context())
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status)
	})
	mux.HandleFunc("POST /{action}", func(w http.ResponseWriter, r *http.Request) {
		action := r.PathValue("action")
		if action == actDown {
			s.requestDown()
			return
		}
		if err := local.act(r.Context(), action, r.FormValue("plane"), r.FormValue("what")); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		}
	})
	return mux
}
