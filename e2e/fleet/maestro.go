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
	// TransportHub means that the work agents fetch works from the hub's API, the default of Open Cluster Management.
	TransportHub = "hub"

	// TransportMaestro means that the hub runs Maestro, and that the work agents fetch works from Maestro.
	TransportMaestro = "maestro"

	// MaestroSource is Maestro's source name for the agents, for the works of all sources.
	MaestroSource = "maestro"

	// MaestroEnv prevents Maestro from logging all messages.
	MaestroEnv = "MAESTRO_ENV=production"

	// maestroFolder and brokerFolder are folders in the hub's data: the files about the database, and the files about
	// the broker.
	maestroFolder = "maestro"
	brokerFolder  = "broker"
)

// Transports returns the permitted values of Options.Transport.
func Transports() []string { return []string{TransportHub, TransportMaestro} }

// maestroSet is built only for fleets with Maestro.
var maestroSet = programSet{
	name: "maestro",
	programs: []program{
		{"maestro", "github.com/towline-io/towline/e2e/programs/maestro/server"},
		{"maestro-source", "github.com/towline-io/towline/e2e/programs/maestro/source"},
	},
	sources: []string{"server/main.go", "source/main.go"},
}

// startMaestro runs Maestro on the hub, with its database for the works and the broker to the agents.
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

// maestroDatabase writes the files by which Maestro finds its database.
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

// databaseKeys are Maestro's settings for its database, each in a file.
var databaseKeys = []string{"host", "port", "name", "user", "password"}

// databaseArgs returns Maestro's arguments with the paths of the files of maestroDatabase, in a hub's data folder.
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

// startMaestroServer runs a server of Maestro. Sources connect to the first server, named maestro. All servers share
// the messages of the agents.
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
		// Every client of this machine's loopback address is trusted, as with the fleet's etcd.
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

// maestroPorts are the listeners of a Maestro server, in the order of their ports.
var maestroPorts = []string{"http-server", "grpc-server", "grpc-broker", "metrics-server", "health-check-server"}

// maestroArgs returns the arguments of a Maestro server with the broker and the database of a hub's data folder.
// Arguments about permitted clients are missing.
func maestroArgs(data, name string, connections int, ports []int) []string {
	args := []string{
		"server", "--server-hostname=127.0.0.1", "--enable-jwt=false", "--enable-authz=false", "--enable-ocm-mock",
		"--message-broker-type=mqtt", "--message-broker-config-file=" + filepath.Join(data, brokerFolder, maestroFolder+".yaml"),
		"--source-id=" + MaestroSource, "--client-id=" + name,
		// Maestro holds two connections for each written status, and a connection for each waiting status. If the
		// number of agents that report at the same moment reaches the number of connections, Maestro waits forever.
		fmt.Sprintf("--db-max-open-connections=%d", connections),
	}
	for i, server := range maestroPorts {
		args = append(args, fmt.Sprintf("--%s-bindport=%d", server, ports[i]))
	}
	return append(args, databaseArgs(data)...)
}

// MaestroArgs returns the arguments of an additional Maestro server for the works of the hub. Arguments about permitted
// clients are missing. The ports are those of the REST server, the gRPC server, the broker, the metrics and the health
// check.
func (h *Hub) MaestroArgs(name string, connections int, ports []int) []string {
	return maestroArgs(h.DataDir(), name, connections, ports)
}

// maestroURL returns the root of Maestro's REST API.
func (p *plane) maestroURL() string {
	return "http://" + p.address("maestro-http-server") + "/api/maestro/v1"
}

// brokerConfig writes the broker configuration of a client: Maestro with the cluster "+" for all clusters, or the agent
// of a cluster. It returns the path of the file.
func (p *plane) brokerConfig(who, cluster string) (string, error) {
	return p.configFile(brokerFolder, who+".yaml", brokerFile(p.address("mosquitto"), cluster))
}

// brokerFile returns the broker configuration of a client, for a broker at an address.
func brokerFile(broker, cluster string) string {
	topics := "sources/" + MaestroSource + "/consumers/" + cluster
	share := ""
	if cluster == "+" {
		share = "$share/maestro/" // each message of an agent is for a single server
	}
	return fmt.Sprintf("brokerHost: %s\ntopics:\n  sourceEvents: %s/sourceevents\n  agentEvents: %s%s/agentevents\n", broker, topics, share, topics)
}

// mqttSource returns the arguments by which the work agent of a cluster finds its works at a broker.
func mqttSource(config, cluster string) []string {
	return []string{
		"--workload-source-driver=mqtt", "--workload-source-config=" + config,
		"--cloudevents-client-id=" + cluster + "-work-agent", "--cloudevents-client-codecs=manifestbundle",
	}
}

// WorkSource returns the arguments by which a work agent outside the fleet finds the works of a cluster: with a
// kubeconfig for the hub, or at the broker. dir is for the agent's configuration.
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

// workSource returns the arguments by which a cluster's work agent finds its works.
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

// addConsumer registers a cluster at Maestro. Maestro refuses works for unregistered clusters.
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
	// A rebuilt cluster is registered already. Maestro then answers with the status of any failure.
	if response.StatusCode != http.StatusCreated && !bytes.Contains(answer, []byte("duplicated key")) {
		return fmt.Errorf("adding %s to Maestro: %s: %s", cluster, response.Status, answer)
	}
	return nil
}

// MaestroURL returns the root of Maestro's REST API. It is empty if the works are in the hub's API.
func (h *Hub) MaestroURL() string { return h.maestro }

// MaestroGRPC returns the address of Maestro's gRPC server, for sources of works.
func (h *Hub) MaestroGRPC() string { return h.maestroGRPC }
