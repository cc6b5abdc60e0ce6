package fleet

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// postgresUser is the only user of the fleet's PostgreSQL, and postgresDatabase its initial database.
	postgresUser     = "maestro"
	postgresDatabase = "postgres"

	// maestroConnections is the maximum number of Maestro's connections.
	maestroConnections = 400
)

// startPostgres runs a PostgreSQL without waits for the disk. Its data is lost if the machine crashes.
func (p *plane) startPostgres(ctx context.Context) error {
	address, err := p.addresses("postgres")
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address[0])
	if err != nil {
		return err
	}
	dir, err := p.createDatabase(ctx)
	if err != nil {
		return err
	}
	server, err := postgresProgram("postgres")
	if err != nil {
		return err
	}
	env, err := p.environment("postgres")
	if err != nil {
		return err
	}
	path, args := unprivileged(server, "-D", dir, "-h", host, "-p", port,
		"-c", "unix_socket_directories=", "-c", fmt.Sprintf("max_connections=%d", maestroConnections+50),
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	return p.run(ctx, spec{
		owner: p.name, name: "postgres", path: path, args: args, env: env, layer: layerStore, restart: true,
		end:   syscall.SIGINT, // after SIGTERM, PostgreSQL waits until its clients leave
		ready: databaseProbe(address[0]),
	})
}

// databaseProbe is ready when the database at an address answers.
func databaseProbe(address string) probe {
	return func(ctx context.Context) error {
		_, err := queryDatabase(ctx, address, "SELECT 1")
		return err
	}
}

// createDatabase returns the folder of the database, and makes the database if it does not exist.
func (p *plane) createDatabase(ctx context.Context) (string, error) {
	dir, err := p.dir("postgres")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "PG_VERSION")); err == nil {
		return dir, nil
	}
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return "", err
	}
	path, args := unprivileged(initdb, "--pgdata="+dir, "--username="+postgresUser, "--auth=trust", "--encoding=UTF8",
		"--locale=C", "--no-sync")
	cmd := exec.CommandContext(ctx, path, args...)
	if cmd.Env, err = p.environment("postgres"); err != nil {
		return "", err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("creating the database of %s: %w\n%s", p.name, err, out)
	}
	return dir, nil
}

// QueryDatabase queries the database of Maestro, and returns psql's output: the columns of a row with | between them.
func (h *Hub) QueryDatabase(ctx context.Context, sql string) (string, error) {
	status, err := h.fleet.Status(ctx)
	if err != nil {
		return "", err
	}
	return queryDatabase(ctx, status.Database, sql)
}

func queryDatabase(ctx context.Context, address, sql string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("address of the database: %w", err)
	}
	psql, err := postgresProgram("psql")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, psql, "--no-psqlrc", "--tuples-only", "--no-align", "--host="+host, "--port="+port,
		"--username="+postgresUser, "--dbname="+postgresDatabase, "--command="+sql).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", sql, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

func postgresProgram(name string) (string, error) {
	return debianProgram(name, "postgresql", "/usr/lib/postgresql/*/bin")
}
