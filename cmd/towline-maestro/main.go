// Command towline-maestro serves the Kubernetes API of ManifestWorks for works stored in Maestro. Towline, kubectl and
// all other clients on a hub read, write and watch the ManifestWorks as if the hub's etcd held them.
package main

import (
	"context"
	"errors"
	goflag "flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/contact"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/idkey"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/leader"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/server"
)

// version is set when linking: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	if err := newCommand().ExecuteContext(genericserver.SetupSignalContext()); err != nil {
		fmt.Fprintln(os.Stderr, "towline-maestro:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var at maestro.Options
	serving := server.NewOptions()
	cmd := &cobra.Command{
		Use:           "towline-maestro",
		Short:         "The Kubernetes API of ManifestWorks for works that Maestro keeps",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceErrors: true, // main prints the errors
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(at.Validate(), serving.Validate()); err != nil {
				return err
			}
			return run(cmd.Context(), at, serving, klog.Background())
		},
	}
	fs := cmd.Flags()
	addMaestroFlags(fs, &at)
	serving.AddFlags(fs)
	logs := goflag.NewFlagSet("klog", goflag.ContinueOnError)
	klog.InitFlags(logs)
	fs.AddGoFlag(logs.Lookup("v"))
	fs.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	cmd.AddCommand(newMigrate())
	return cmd
}

// addMaestroFlags registers the flags for the connection to Maestro: addresses, source name, certificates and token.
func addMaestroFlags(fs *pflag.FlagSet, at *maestro.Options) {
	fs.StringVar(&at.URL, "maestro-url", "", "URL of Maestro's REST server")
	fs.StringVar(&at.GRPC, "maestro-grpc", "", "host and port of Maestro's gRPC server")
	fs.StringVar(&at.Source, "source", "towline", "name under which works are written in Maestro; it must stay the same, and only one hub may use it")
	fs.StringVar(&at.CAFile, "maestro-ca-file", "",
		"certificates of the authorities that sign Maestro's certificates; it is read for each connection; default: those of the system")
	fs.StringVar(&at.CertFile, "maestro-cert-file", "", "client certificate for Maestro; it is read for each connection")
	fs.StringVar(&at.KeyFile, "maestro-key-file", "", "key of the client certificate for Maestro")
	fs.StringVar(&at.TokenFile, "maestro-token-file", "", "bearer token for Maestro; it is read again after 50 seconds")
	fs.BoolVar(&at.Plaintext, "maestro-plaintext", false, "speak to Maestro without TLS: on one machine, for tests")
}

// run serves until the context ends, or until another process leads. Only the leading process follows Maestro and is
// ready.
func run(ctx context.Context, at maestro.Options, serving *server.Options, log logr.Logger) error {
	client, err := maestro.New(at)
	if err != nil {
		return err
	}
	defer client.Close()
	known := contact.With(client)
	works := mirror.New(known, at.Source, log)
	api, hub, err := server.New(serving, works, known, log)
	if err != nil {
		return err
	}
	key, err := idkey.Load(ctx, hub, serving.LeaderElectNamespace)
	if err != nil {
		return err
	}
	works.IDs = bundle.NewIDs(at.Source, key)
	if !serving.LeaderElect {
		return whileLeading(ctx, api.PrepareRun().RunWithContext, always(works.Run))
	}
	election, err := leader.New(hub, serving.LeaderElectNamespace, works.Run)
	if err != nil {
		return err
	}
	works.MayWrite = election.MayWrite
	return whileLeading(ctx, api.PrepareRun().RunWithContext, election.Run)
}

// always adapts a run function without a result: the returned function always returns nil.
func always(run func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}

// letGo is the longest time for which a stopping process keeps its Lease. Writes in progress can finish in this time.
// The kubelet kills the process after 45 seconds.
const letGo = 40 * time.Second

// whileLeading runs a server while this process leads. When ctx ends, the server ends first, with all watches and the
// writes in progress. Then the process releases the Lease, after letGo at the latest.
func whileLeading(ctx context.Context, serve, lead func(context.Context) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	leading, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(serving, func() { time.AfterFunc(letGo, giveUp) })()
	var group errgroup.Group
	group.Go(func() error {
		defer giveUp()
		return serve(serving)
	})
	group.Go(func() error {
		defer stop()
		return lead(leading)
	})
	return group.Wait()
}
