package bench

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// maestro has the additional parts of a hub with works in Maestro.
type maestro struct {
	*towline.Maestro

	// client and url reach towline-maestro without the hub's API server.
	client *http.Client
	url    string

	// empty is the size of Maestro's database without works, in bytes.
	empty float64
}

// startMaestro makes the hub's API serve the works in Maestro.
func (b *Bench) startMaestro(ctx context.Context) error {
	m, err := towline.PrepareMaestro(ctx, b.fleet)
	if err != nil {
		return err
	}
	m.Env, m.ReadyTimeout = b.env(processMaestro), b.patience()
	if err := m.Run(ctx); err != nil {
		return err
	}
	if err := m.Serve(ctx); err != nil {
		return err
	}
	b.maestro = &maestro{Maestro: m, url: m.RESTConfig().Host}
	if b.maestro.client, err = rest.HTTPClientFor(m.RESTConfig()); err != nil {
		return err
	}
	b.maestro.empty, err = b.inDatabase(ctx, databaseSize)
	return err
}

// reach returns the agents for the run's transport.
func (b *Bench) reach(ctx context.Context) (agents, error) {
	if b.Transport != fleet.TransportMaestro {
		return hubAgents{b.bare}, nil
	}
	broker, err := b.fleet.Hub.BrokerAddress(ctx)
	names := make([]string, b.Clusters)
	for i := range names {
		names[i] = b.clusterName(i)
	}
	return newBrokerAgents(broker, names, b.Parallel), err
}

// stopWorks stops the server of the works, if it is not the hub's API server, and returns the server for startWorks.
func (b *Bench) stopWorks() *maestro {
	m := b.maestro
	if m != nil {
		m.Stop()
	}
	b.maestro = nil
	return m
}

// startWorks restarts the server of the works, and returns when the hub's API serves the works.
func (b *Bench) startWorks(ctx context.Context, m *maestro) error {
	if m == nil {
		return nil
	}
	if err := m.Restart(ctx); err != nil {
		return err
	}
	b.maestro = m
	return m.Serve(ctx)
}

// Queries of Maestro's database. The results are in bytes.
const (
	databaseSize = "SELECT pg_database_size(current_database())"
	bundleSize   = "SELECT avg(pg_column_size(resources.*)) FROM resources"
)

func (b *Bench) inDatabase(ctx context.Context, sql string) (float64, error) {
	text, err := b.fleet.Hub.QueryDatabase(ctx, sql)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(text), 64)
}

// storedInDatabase records the size of an Application in Maestro's database.
func (b *Bench) storedInDatabase(ctx context.Context) error {
	if b.maestro == nil {
		return nil
	}
	size, err := b.inDatabase(ctx, databaseSize)
	if err != nil {
		return err
	}
	b.result.set("storage.database", (size-b.maestro.empty)/1024/float64(b.applications()))
	bundle, err := b.inDatabase(ctx, bundleSize)
	b.result.set("storage.of_bundle", bundle)
	return err
}
