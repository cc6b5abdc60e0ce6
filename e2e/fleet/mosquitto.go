package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
)

// startMosquitto runs the MQTT broker between Maestro and the work agents. The broker loses its state at a restart.
func (p *plane) startMosquitto(ctx context.Context) error {
	program, err := debianProgram("mosquitto", "mosquitto", "/usr/sbin")
	if err != nil {
		return err
	}
	address, err := p.addresses("mosquitto", brokerAccounts)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address[0])
	if err != nil {
		return err
	}
	accounts, err := p.accountsListener(address[1])
	if err != nil {
		return err
	}
	// Started by root, mosquitto would change to a user who may not be able to read this folder. The setting "user" is
	// only for a start by root. By default, mosquitto queues 1,000 messages for a slow client, and silently drops
	// further messages.
	file, err := p.configFile("mosquitto", "mosquitto.conf",
		fmt.Sprintf("per_listener_settings true\npersistence false\nuser root\nlog_dest stderr\nmax_queued_messages 0\n"+
			"listener %s %s\nallow_anonymous true\n", port, host)+accounts)
	if err != nil {
		return err
	}
	env, err := p.environment("mosquitto")
	if err != nil {
		return err
	}
	return p.run(ctx, spec{
		owner: p.name, name: "mosquitto", path: program, args: []string{"-c", file}, env: env, layer: layerStore, restart: true,
		ready: mqttProbe(address[0]),
	})
}

// mqttProbe is ready when the server accepts an MQTT client.
func mqttProbe(address string) probe {
	// CONNECT of MQTT 3.1.1: a clean session, no keep-alive, no name.
	hello := []byte{0x10, 12, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, 0}
	return func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if deadline, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(deadline)
		}
		if _, err := conn.Write(hello); err != nil {
			return err
		}
		var answer [4]byte
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return err
		}
		if answer[0] != 0x20 || answer[3] != 0 {
			return errors.New("the broker refuses a client")
		}
		return nil
	}
}
