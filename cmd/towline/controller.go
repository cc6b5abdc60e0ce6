package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/tracing"
)

func newControllerCommand() *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the hub's controllers",
		Long: "Run the hub's controllers:\n\n" +
			"- gitopscluster imports the clusters of a Placement into Argo CD.\n" +
			"- decisions makes ApplicationSets follow a Placement at once.\n" +
			"- placement sets the cluster of an Application with a Placement.\n" +
			"- propagation wraps Applications for pull in ManifestWorks.\n" +
			"- dependencies sends the dependencies of Applications to the clusters.\n" +
			"- status writes the reports of the clusters into the Applications on the hub.\n" +
			"- aggregation keeps a report for every ApplicationSet.\n" +
			"- resourcetree shows the resources of the Applications in the hub's Argo CD.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// run runs until ctx ends, or until an error without a workaround.
func run(ctx context.Context, o *options) error {
	if err := setupLogs(&o.common); err != nil {
		return err
	}
	config, err := restConfig(&o.common)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	mgr, err := newManager(config, o, lost)
	if err != nil {
		return err
	}
	selected := controllerOptions(o)
	if selected.Tracer, err = tracing.New(ctx, version, ctrl.Log); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	defer selected.Tracer.Close(ctx)
	if err := controllers.Add(ctx, mgr, selected); err != nil {
		return err
	}
	ctrl.Log.Info("Starting", "version", version, "controllers", o.enabled(), "leaderElection", o.leaderElect, "traces", selected.Tracer != nil)
	if err := controllers.Start(ctx, mgr); err != nil {
		return err
	}
	if err := context.Cause(ctx); errors.Is(err, errNotLeading) {
		return err
	}
	return nil
}

// controllerOptions returns the options for the controllers.
func controllerOptions(o *options) controllers.Options {
	return controllers.Options{
		Enabled: o.enabled(), Concurrency: o.concurrency, Move: o.move, Adopt: o.adopt,
		Sources: o.sources, Search: o.search, ClusterClaims: o.clusterClaims, TakeOverGitOpsClusters: o.takeOverGitOpsClusters, Authorization: o.settings(),
		Redis: o.redis, LiveResources: o.live,
		AppInfo:      o.appInfo,
		Dependencies: o.dependencies(), AfterRestore: o.afterRestore, AppNamespaces: o.appNamespaces,
	}
}

// newManager returns the manager with its cache, probes and metrics, but without controllers. If a different replica
// takes over the Lease of this replica, newManager's lock calls lost.
func newManager(config *rest.Config, o *options, lost func(error)) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := controllers.AddToScheme(scheme); err != nil {
		return nil, err
	}
	lease := &lock{tenure: newTenure(), lost: lost}
	m := managerOptions(scheme, o)
	m.LeaderElectionResourceLockInterface = lease
	fenced := controllers.Config(config)
	lease.tenure.fence(fenced)
	mgr, err := ctrl.NewManager(fenced, m)
	if err != nil {
		return nil, err
	}
	if m.LeaderElection {
		err = lease.open(config, mgr, m, os.Getenv(podUIDVariable))
	}
	return mgr, errors.Join(err, addProbes(mgr))
}

// restConfig returns the connection to the cluster of --kubeconfig.
func restConfig(o *common) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit in the client: the API server's priority and fairness decides
	return config, nil
}

// setupLogs sends all logs through zap, including the logs of client-go.
func setupLogs(o *common) error {
	logger, err := newLogger(o, os.Stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

// newLogger returns a logger with the format of --log-format and the level of --log-level.
func newLogger(o *common, w io.Writer) (logr.Logger, error) {
	level, err := o.level()
	return zap.New(zap.UseDevMode(false), zap.Level(level), encoder(o.logFormat), zap.WriteTo(w),
		zap.StacktraceLevel(zapcore.PanicLevel), zap.RawZapOpts(uberzap.WrapCore(func(c zapcore.Core) zapcore.Core { return lazy{c} }))), err
}

// lazy encodes the fields of a logger only for a written line. Each reconcile gets many fields, and most reconciles
// write no line.
type lazy struct{ zapcore.Core }

// With implements zapcore.Core.
func (l lazy) With(fields []zapcore.Field) zapcore.Core {
	return lazy{zapcore.NewLazyWith(l.Core, fields)}
}

func encoder(format string) zap.Opts {
	readable := func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.ISO8601TimeEncoder }
	if format == "console" {
		return zap.ConsoleEncoder(readable)
	}
	return zap.JSONEncoder(readable)
}
