package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

const (
	// TransportHub says that the work agents fetch works from the hub's API: what Open Cluster Management does by itself.
	TransportHub = "hub"

	// TransportMaestro says that the hub runs Maestro, and that the work agents fetch works from there.
	TransportMaestro = "maestro"

	// MaestroSource is the name under which Maestro speaks to the agents, whatever source a work is from.
	MaestroSource = "maestro"

	// MaestroEnv has Maestro not log all that it sends and is sent.
	MaestroEnv = "MAESTRO_ENV=production"

	// maestroFolder and brokerFolder are folders in the hub's: how to reach the database, and the broker.
	maestroFolder = "maestro"
	brokerFolder  = "broker"
)

// Transports are the words for Options.Transport.
func Transports() []string { return []string{TransportHub, TransportMaestro} }

// maestroSet is built for fleets with Maestro only.
var maestroSet = programSet{
	name: "maestro",
	programs: []program{
		{"maestro", "github.com/towline-io/towline/e2e/programs/maestro/server"},
		{"maestro-source", "github.com/towline-io/towline/e2e/programs/maestro/source"},
	},
	sources: []string{"server/main.go", "source/main.go"},
}

// startMaestro runs Maestro on the hub, with the database that keeps its works and the broker that carries them.
func (p *plane) startMaestro(ctx context.Context) error {
	group, started := errgroup.WithContext(ctx)
	group.Go(func() error { return p.startPostgres(started) })
	group.Go(func() error { return p.startMosquitto(started) })
	if err := group.Wait(); err != nil {
		return err
	}
	if p.opts.PgBouncer {
		if err := p.startPgBouncer(ctx); err != nil {
			return err
		}
	}
	if err := p.maestroDatabase(); err != nil {
		return err
	}
	if err := p.migrateMaestro(ctx); err != nil {
		return err
	}
	servers, starting := errgroup.WithContext(ctx)
	for i := range max(1, p.opts.MaestroServers) {
		name := "maestro"
		if i > 0 {
			name = fmt.Sprintf("maestro-%d", i+1)
		}
		servers.Go(func() error { return p.startMaestroServer(starting, name) })
	}
	return servers.Wait()
}

// maestroDatabase writes the files that tell Maestro of its database.
func (p *plane) maestroDatabase() error {
	dir, err := p.dir(maestroFolder)
	if err != nil {
		return err
	}
	server := "postgres"
	if p.opts.PgBouncer {
		server = "pgbouncer"
	}
	host, port, err := net.SplitHostPort(p.address(server))
	if err != nil {
		return err
	}
	for i, value := range []string{host, port, postgresDatabase, postgresUser, "none"} {
		if err := os.WriteFile(filepath.Join(dir, "db-"+databaseKeys[i]), []byte(value), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// databaseKeys are what Maestro has to know of its database, each from a file.
var databaseKeys = []string{"host", "port", "name", "user", "password"}

// databaseArgs are the arguments of Maestro that name these files, in a hub's folder.
func databaseArgs(data string) (args []string) {
	for _, key := range databaseKeys {
		args = append(args, fmt.Sprintf("--db-%s-file=%s", key, filepath.Join(data, maestroFolder, "db-"+key)))
	}
	return args
}

func (p *plane) migrateMaestro(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.programs.Path("maestro"), append([]string{"migration"}, databaseArgs(p.paths.data(p.name))...)...)
	var err error
	if cmd.Env, err = p.environment("maestro"); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making Maestro's tables: %w\n%s", err, out)
	}
	return nil
}

// startMaestroServer runs one of Maestro's servers. Sources speak to the first, which is named maestro; the work for agents is shared.
func (p *plane) startMaestroServer(ctx context.Context, name string) error {
	if _, err := p.brokerConfig(maestroFolder, "+"); err != nil {
		return err
	}
	env, err := p.environment(name, MaestroEnv)
	if err != nil {
		return err
	}
	var ports []int
	for _, server := range maestroPorts {
		port, err := p.port(name + "-" + server)
		if err != nil {
			return err
		}
		ports = append(ports, port)
	}
	args := maestroArgs(p.paths.data(p.name), name, maestroConnections, ports)
	return p.run(ctx, spec{
		owner: p.name, name: name, path: p.programs.Path("maestro"), env: env,
		// Whoever reaches this machine's own address is trusted, as with the fleet's etcd.
		args:  append(args, "--disable-grpc-tls"),
		layer: layerControllers, restart: true,
		ready: func(ctx context.Context) error {
			if err := httpProbe("http://" + p.address(name+"-health-check-server") + "/healthcheck")(ctx); err != nil {
				return err
			}
			return httpProbe("http://" + p.address(name+"-http-server") + "/api/maestro/v1/consumers")(ctx)
		},
	})
}

// maestroPorts are the servers in one of Maestro's, in the order of their ports.
var maestroPorts = []string{"http-server", "grpc-server", "grpc-broker", "metrics-server", "health-check-server"}

// maestroArgs are those of one of Maestro's servers, but for who may speak to it, with the broker and the database of the hub that has this
// folder.
func maestroArgs(data, name string, connections int, ports []int) []string {
	args := []string{
		"server", "--server-hostname=127.0.0.1", "--enable-jwt=false", "--enable-authz=false", "--enable-ocm-mock",
		"--message-broker-type=mqtt", "--message-broker-config-file=" + filepath.Join(data, brokerFolder, maestroFolder+".yaml"),
		"--source-id=" + MaestroSource, "--client-id=" + name,
		// It holds two connections for each status that it writes, and one for each while it waits: once as many agents speak at the same
		// moment as it has connections, it waits for ever.
		fmt.Sprintf("--db-max-open-connections=%d", connections),
	}
	for i, server := range maestroPorts {
		args = append(args, fmt.Sprintf("--%s-bindport=%d", server, ports[i]))
	}
	return append(args, databaseArgs(data)...)
}

// MaestroArgs are those of one more of Maestro's servers for the works of the hub, but for who may speak to it. Its ports are those of the
// REST server, the gRPC server, the broker, the metrics and the health check.
func (h *Hub) MaestroArgs(name string, connections int, ports []int) []string {
	return maestroArgs(h.DataDir(), name, connections, ports)
}

// maestroURL is the root of Maestro's REST API.
func (p *plane) maestroURL() string {
	return "http://" + p.address("maestro-http-server") + "/api/maestro/v1"
}

// brokerConfig writes how one side reaches the broker: Maestro for all clusters, "+", or the agent of one.
func (p *plane) brokerConfig(who, cluster string) (string, error) {
	return p.configFile(brokerFolder, who+".yaml", brokerFile(p.address("mosquitto"), cluster))
}

// brokerFile says how one side reaches the broker at an address.
func brokerFile(broker, cluster string) string {
	topics := "sources/" + MaestroSource + "/consumers/" + cluster
	share := ""
	if cluster == "+" {
		share = "$share/maestro/" // each word of an agent is for one of the servers
	}
	return fmt.Sprintf("brokerHost: %s\ntopics:\n  sourceEvents: %s/sourceevents\n  agentEvents: %s%s/agentevents\n", broker, topics, share, topics)
}

// mqttSource are the arguments by which the work agent of a cluster finds its works at a broker.
func mqttSource(config, cluster string) []string {
	return []string{
		"--workload-source-driver=mqtt", "--workload-source-config=" + config,
		"--cloudevents-client-id=" + cluster + "-work-agent", "--cloudevents-client-codecs=manifestbundle",
	}
}

// WorkSource are the arguments by which a work agent that the fleet does not run finds the works of a cluster, with a kubeconfig for
// the hub or at the broker. dir is for the agent's configuration.
func (h *Hub) WorkSource(ctx context.Context, cluster, kubeconfig, dir string) ([]string, error) {
	if h.maestro == "" {
		return []string{"--hub-kubeconfig=" + kubeconfig, "--workload-source-config=" + kubeconfig}, nil
	}
	broker, err := h.BrokerAddress(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, cluster+"-broker.yaml")
	return mqttSource(file, cluster), os.WriteFile(file, []byte(brokerFile(broker, cluster)), 0o600)
}

// workSource gives the arguments by which a cluster's work agent finds its works.
func (p *plane) workSource(ctx context.Context, hubConfig string) ([]string, error) {
	if p.transport != TransportMaestro {
		return []string{"--hub-kubeconfig=" + hubConfig, "--workload-source-config=" + hubConfig}, nil
	}
	if err := p.hub.addConsumer(ctx, p.name); err != nil {
		return nil, err
	}
	config, err := p.hub.brokerConfig(p.name, p.name)
	return mqttSource(config, p.name), err
}

// addConsumer tells Maestro of a cluster: it takes no works for others.
func (p *plane) addConsumer(ctx context.Context, cluster string) error {
	body, err := json.Marshal(map[string]string{"name": cluster})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.maestroURL()+"/consumers", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := probeClient.Do(request)
	if err != nil {
		return fmt.Errorf("adding %s to Maestro: %w", cluster, err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	// A cluster that is rebuilt is there already; Maestro says so with the status of any failure.
	if response.StatusCode != http.StatusCreated && !bytes.Contains(answer, []byte("duplicated key")) {
		return fmt.Errorf("adding %s to Maestro: %s: %s", cluster, response.Status, answer)
	}
	return nil
}

// MaestroURL is the root of Maestro's REST API: empty where the works are in the hub's API.
func (h *Hub) MaestroURL() string { return h.maestro }

// MaestroGRPC is the address of Maestro's gRPC server, for sources of works.
func (h *Hub) MaestroGRPC() string { return h.maestroGRPC }
