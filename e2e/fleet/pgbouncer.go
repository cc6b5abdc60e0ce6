package fleet

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// startPgBouncer runs PgBouncer between Maestro and its database. PgBouncer keeps connections to the database open.
// Without PgBouncer, Maestro would open most connections again for each request.
func (p *plane) startPgBouncer(ctx context.Context) error {
	program, err := debianProgram("pgbouncer", "pgbouncer", "/usr/sbin")
	if err != nil {
		return err
	}
	address, err := p.addresses("pgbouncer")
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(p.address("postgres"))
	if err != nil {
		return err
	}
	file, err := p.configFile("pgbouncer", "pgbouncer.ini", fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]s dbname=%[1]s user=%[4]s
[pgbouncer]
listen_addr = %[2]s
listen_port = %[5]s
unix_socket_dir =
auth_type = any
pool_mode = session
max_client_conn = %[7]d
default_pool_size = %[6]d
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
`, postgresDatabase, host, port, postgresUser, portOf(address[0]), maestroConnections+20,
		max(1, p.opts.MaestroServers)*maestroConnections+20))
	if err != nil {
		return err
	}
	env, err := p.environment("pgbouncer")
	if err != nil {
		return err
	}
	path, args := unprivileged(program, file)
	return p.run(ctx, spec{
		owner: p.name, name: "pgbouncer", path: path, args: args, env: env, layer: layerStore, restart: true,
		end: syscall.SIGINT, ready: databaseProbe(address[0]),
	})
}
