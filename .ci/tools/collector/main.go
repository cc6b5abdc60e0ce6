// Command collector is an OpenTelemetry Collector for tests: the collector's own OTLP receiver, with TLS, writes each
// received request to standard output as a line of OTLP JSON, as the collector's file exporter does.
//
//	collector <address> <certificate file> <key file>
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: collector <address> <certificate file> <key file>")
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{
		"endpoint": args[0], "tls": map[string]any{"cert_file": args[1], "key_file": args[2]},
	}}}).Unmarshal(config); err != nil {
		return err
	}
	output, err := consumer.NewTraces(write)
	if err != nil {
		return err
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	input, err := factory.CreateTraces(ctx, settings, config, output)
	if err != nil {
		return err
	}
	if err := input.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	<-ctx.Done()
	return input.Shutdown(context.WithoutCancel(ctx))
}

func write(_ context.Context, traces ptrace.Traces) error {
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	return err
}
