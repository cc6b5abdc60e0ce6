package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/idkey"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/leader"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/migrate"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// fillTimeout is the time limit for reading all works from Maestro.
const fillTimeout = 5 * time.Minute

// leaseTimeout is how long the command waits for another process to release the Lease. A process that ended without
// releasing the Lease keeps the Lease for 15 seconds.
const leaseTimeout = 30 * time.Second

// migration has the flags of the commands copy, clean and settle.
type migration struct {
	at         maestro.Options
	works      migrate.Options
	to, source string
	kubeconfig string
	namespace  string

	// writes is true if the command writes into Maestro.
	writes bool
}

func newMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Move the works of a hub between its etcd and Maestro: see docs/maestro.md",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newCopy(), newClean(), newSettle())
	return cmd
}

func newCopy() *cobra.Command {
	var m migration
	cmd := &cobra.Command{
		Use:   "copy --to=maestro|hub",
		Short: "Make the works in Maestro the same as those in the hub's etcd, or the other way round",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.to != "maestro" && m.to != "hub" {
				return fmt.Errorf("--to: %q is neither maestro nor hub", m.to)
			}
			if m.to == "hub" {
				return m.run(cmd, migrate.CopyToHub)
			}
			m.writes = !m.works.DryRun
			return m.run(cmd, migrate.CopyToMaestro)
		},
	}
	cmd.Flags().StringVar(&m.to, "to", "", "where the works are copied to: maestro, or hub for the hub's etcd")
	cmd.Flags().BoolVar(&m.works.Prune, "prune", false, "remove works that are only where the works are copied to")
	cmd.Flags().StringVar(&m.namespace, "leader-elect-namespace", "argocd",
		"namespace of the Lease by which one process writes into Maestro; another towline-maestro must not run")
	m.addFlags(cmd.Flags())
	return cmd
}

func newClean() *cobra.Command {
	var m migration
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove the works from the hub's etcd that the clusters' agents fetch from Maestro",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return m.run(cmd, migrate.Clean) },
	}
	m.addFlags(cmd.Flags())
	return cmd
}

func newSettle() *cobra.Command {
	var m migration
	cmd := &cobra.Command{
		Use:   "settle --agent-source=HOST",
		Short: "On a cluster, remove the records of its agent's earlier source where those of the present one own the same objects",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.source == "" {
				return errors.New("--agent-source: give the agent's present source as its configuration has it, such as mqtt.example.com:1883")
			}
			config, err := m.config()
			if err != nil {
				return err
			}
			m.works.Out = cmd.OutOrStdout()
			return migrate.Settle(cmd.Context(), config, m.source, m.works)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&m.source, "agent-source", "",
		"the agent's present source: the brokerHost or url of its configuration, or the server of its hub's kubeconfig")
	fs.StringVar(&m.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; default: $KUBECONFIG, or the cluster that this runs on")
	fs.BoolVar(&m.works.DryRun, "dry-run", false, "say what would be done, and write nothing")
	return cmd
}

func (m *migration) addFlags(fs *pflag.FlagSet) {
	addMaestroFlags(fs, &m.at)
	fs.StringVar(&m.kubeconfig, "kubeconfig", "", "kubeconfig of the hub; default: $KUBECONFIG, or the cluster that this runs on")
	fs.StringSliceVar(&m.works.Clusters, "cluster", nil, "clusters whose works are meant; default: all")
	fs.BoolVar(&m.works.DryRun, "dry-run", false, "say what would be done, and write nothing")
}

func (m *migration) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = m.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}

// run reads the works from Maestro, and calls do with the works of the hub and of Maestro.
func (m *migration) run(cmd *cobra.Command, do func(context.Context, *migrate.Hub, migrate.Maestro, migrate.Options) error) error {
	if err := m.at.Validate(); err != nil {
		return err
	}
	config, err := m.config()
	if err != nil {
		return err
	}
	hub, err := migrate.NewHub(config)
	if err != nil {
		return err
	}
	if err := hub.Ready(cmd.Context()); err != nil {
		return err
	}
	client, err := maestro.New(m.at)
	if err != nil {
		return err
	}
	defer client.Close()
	works := mirror.New(client, m.at.Source, logr.Discard())
	works.Quiet = true
	follow, err := m.follower(cmd.Context(), config, works)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	var following errgroup.Group
	following.Go(func() error { return follow(ctx) })
	defer func() {
		cancel()
		_ = following.Wait() // without the Lease, the writes have failed
	}()
	if err := m.filled(ctx, client, works); err != nil {
		return err
	}
	m.works.Out = cmd.OutOrStdout()
	return do(ctx, hub, works, m.works)
}

// follower returns the function for reading the works from Maestro. A command without writes reads at once. A command
// with writes starts to read when this process holds the Lease, so no other process may write.
func (m *migration) follower(ctx context.Context, config *rest.Config, works *mirror.Mirror) (func(context.Context) error, error) {
	if !m.writes {
		works.MayWrite = func() error { return errors.New("this command writes nothing into Maestro") }
		return always(works.Run), nil
	}
	hub, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	key, err := idkey.Load(ctx, hub, m.namespace)
	if err != nil {
		return nil, err
	}
	works.IDs = bundle.NewIDs(m.at.Source, key)
	election, err := leader.New(hub, m.namespace, works.Run)
	if err != nil {
		return nil, err
	}
	works.MayWrite = election.MayWrite
	return election.Run, nil
}

// filled waits until all works have been read from Maestro. The error tells why Maestro cannot be read, why the Lease
// cannot be had, or which time limit has passed.
func (m *migration) filled(ctx context.Context, client *maestro.Client, works *mirror.Mirror) error {
	if _, err := client.Get(ctx, uuid.Nil.String()); err != nil && !errors.Is(err, maestro.ErrNotFound) {
		return fmt.Errorf("the works cannot be read from Maestro: %w", err)
	}
	if m.writes {
		err := poll(ctx, leaseTimeout, func() bool { return works.MayWrite() == nil })
		if err != nil {
			return fmt.Errorf("another process writes into Maestro: scale the Deployment %s/towline-maestro to 0 (see docs/maestro.md): %w", m.namespace, err)
		}
	}
	if err := poll(ctx, fillTimeout, works.Filled); err != nil {
		return fmt.Errorf("the works could not be read from Maestro within %s: %w", fillTimeout, err)
	}
	return nil
}

func poll(ctx context.Context, timeout time.Duration, done func() bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, timeout, true, func(context.Context) (bool, error) { return done(), nil })
}
