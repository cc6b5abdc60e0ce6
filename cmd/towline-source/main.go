// Command towline-source lets clusters without a route to Git read their repositories through the hub. It is an API
// server behind the hub's API server. It fetches the repositories with the hub's credentials, and answers Git's requests
// of a cluster for the repositories of the cluster's own Applications.
package main

import (
	"context"
	"errors"
	goflag "flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/cmd/towline-source/internal/hub"
	"github.com/towline-io/towline/cmd/towline-source/internal/managed"
	"github.com/towline-io/towline/cmd/towline-source/internal/mirror"
	"github.com/towline-io/towline/cmd/towline-source/internal/server"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/source"
)

// version is set when linking: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	if err := newCommand().ExecuteContext(genericserver.SetupSignalContext()); err != nil {
		fmt.Fprintln(os.Stderr, "towline-source:", err)
		os.Exit(1)
	}
}

// options are the flags, except the flags of serving.
type options struct {
	namespace string
	mirrors   mirror.Options

	managed         string
	maxManagedBytes int64
}

// The values of --managed-resources.
const (
	managedGuarded = "guarded"
	managedAlways  = "always"
)

// maxLookTimeout is the longest time for a look at a Git server. The agents must get the failure before they repeat kept
// answers. Otherwise the clusters would not learn the failure.
const maxLookTimeout = source.KeptTimeout - 2*time.Second

func newCommand() *cobra.Command {
	serving := server.NewOptions()
	o := options{namespace: apis.DefaultArgoCDNamespace, mirrors: mirror.Options{
		Dir: "/var/lib/towline-source", Keep: 3 * time.Second, MaxBytes: 1 << 30, MaxTotal: 8 << 30,
		LookTimeout: maxLookTimeout, FetchTimeout: 10 * time.Minute,
	}, maxManagedBytes: 64 << 20}
	cmd := &cobra.Command{
		Use:           "towline-source",
		Short:         "Repositories for clusters without a route to Git",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceErrors: true, // main prints the errors
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.validate(), serving.Validate()); err != nil {
				return err
			}
			return run(cmd.Context(), o, serving)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.namespace, "argocd-namespace", o.namespace, "namespace of the hub's Argo CD, with the Secrets of repositories")
	fs.StringVar(&o.mirrors.Dir, "data", o.mirrors.Dir, "folder for the mirrors of repositories; its content may be lost at any time")
	fs.DurationVar(&o.mirrors.Keep, "keep-references", o.mirrors.Keep,
		"how long the references of a repository are answered without asking the Git server")
	fs.Int64Var(&o.mirrors.MaxBytes, "max-repository-bytes", o.mirrors.MaxBytes, "the largest repository that is served")
	fs.Int64Var(&o.mirrors.MaxTotal, "max-bytes", o.mirrors.MaxTotal,
		"the size of all mirrors from which the mirrors not used for the longest time are removed")
	fs.DurationVar(&o.mirrors.LookTimeout, "look-timeout", o.mirrors.LookTimeout, "how long a Git server may take to answer with its references; "+
		"at most "+maxLookTimeout.String()+", because the agents wait "+source.KeptTimeout.String())
	fs.DurationVar(&o.mirrors.FetchTimeout, "fetch-timeout", o.mirrors.FetchTimeout, "how long a fetch of a change may take")
	fs.StringVar(&o.managed, "managed-resources", o.managed, "whether agents may write managed resources of Applications into the Redis of the hub's "+
		"Argo CD, for example for argocd app diff: "+managedGuarded+" (while argocd-cm has cluster.inClusterEnabled: \"false\") or "+managedAlways+
		" (only for an argocd-server without server-side diff, as in Argo CD 2.14); default: no")
	fs.Int64Var(&o.maxManagedBytes, "max-managed-bytes", o.maxManagedBytes, "the size of all managed resources of a cluster in the hub's Redis")
	serving.AddFlags(fs)
	logs := goflag.NewFlagSet("klog", goflag.ContinueOnError)
	klog.InitFlags(logs)
	fs.AddGoFlag(logs.Lookup("v"))
	fs.SetNormalizeFunc(flag.WordSepNormalizeFunc)
	return cmd
}

// validate returns all errors in the options, with the flag.
func (o *options) validate() error {
	var errs []error
	if o.mirrors.MaxBytes < 1<<20 {
		errs = append(errs, fmt.Errorf("--max-repository-bytes: %d is less than a MiB", o.mirrors.MaxBytes))
	}
	if o.mirrors.MaxTotal < o.mirrors.MaxBytes {
		errs = append(errs, fmt.Errorf("--max-bytes: %d is less than --max-repository-bytes", o.mirrors.MaxTotal))
	}
	for name, d := range map[string]time.Duration{
		"keep-references": o.mirrors.Keep, "look-timeout": o.mirrors.LookTimeout, "fetch-timeout": o.mirrors.FetchTimeout,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("--%s: %s is not positive", name, d))
		}
	}
	if o.mirrors.LookTimeout > maxLookTimeout {
		errs = append(errs, fmt.Errorf("--look-timeout: %s is longer than %s: the agents repeat an earlier answer after %s, and the clusters would not "+
			"learn the failure", o.mirrors.LookTimeout, maxLookTimeout, source.KeptTimeout))
	}
	if o.managed != "" && o.managed != managedGuarded && o.managed != managedAlways {
		errs = append(errs, fmt.Errorf("--managed-resources: %q is not %s or %s", o.managed, managedGuarded, managedAlways))
	}
	if o.maxManagedBytes < 1 {
		errs = append(errs, fmt.Errorf("--max-managed-bytes: %d is not at least 1", o.maxManagedBytes))
	}
	return errors.Join(errs...)
}

// run serves until the context ends.
func run(ctx context.Context, o options, serving *server.Options) error {
	log := klog.Background()
	mirrors, err := mirror.New(o.mirrors)
	if err != nil {
		return err
	}
	config, err := serving.HubConfig()
	if err != nil {
		return err
	}
	var settings []string
	if o.managed == managedGuarded {
		settings = []string{hub.Settings}
	}
	facts, err := hub.New(ctx, config, o.namespace, mirrors.Stale, settings...)
	if err != nil {
		return err
	}
	entries, err := o.entries(ctx, config, facts)
	if err != nil {
		return err
	}
	api, err := server.New(serving, facts, mirrors, entries, log)
	if err != nil {
		return err
	}
	if err := api.AddReadyzChecks(healthz.NamedCheck("hub", func(r *http.Request) error {
		if !facts.Synced(r.Context()) {
			return errors.New("the Applications and Secrets of the hub have not been read yet")
		}
		return nil
	})); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return facts.Start(ctx) })
	if entries != nil {
		group.Go(func() error { return entries.Run(ctx, facts.Synced) })
	}
	group.Go(func() error { return api.PrepareRun().RunWithContext(ctx) })
	return group.Wait()
}

// entries returns the managed resources in the Redis of the hub's Argo CD; nil if agents may write none.
func (o *options) entries(ctx context.Context, config *rest.Config, facts *hub.Hub) (*managed.Entries, error) {
	if o.managed == "" {
		return nil, nil //nolint:nilnil // documented
	}
	reader, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	open := facts.InClusterRefused
	if o.managed == managedAlways {
		open = func() bool { return true }
	}
	entries := managed.New(managed.Options{
		Grants: facts, Redis: argocache.NewRedis(&argocache.Found{Reader: reader, Namespace: o.namespace}), Home: o.namespace,
		Open: open, MaxBytes: o.maxManagedBytes, Log: klog.Background(),
	})
	return entries, facts.Follow(ctx, entries.Judge, entries.JudgeAll)
}
