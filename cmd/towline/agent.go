package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/agent"
)

// userAgent is the name of the agent in the hub's audit log.
const userAgent = "towline-agent"

func newAgentCommand() *cobra.Command {
	o := newAgentOptions()
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of a managed cluster",
		Long: "Run the agent of a managed cluster. In ApplicationReports, the agent reports the state of the Applications from the " +
			"hub, with all resources of the Applications.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.fromEnvironment(os.LookupEnv, cmd.Flags()), o.validate()); err != nil {
				return err
			}
			return runAgent(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// runAgent runs until ctx ends, or until an error without a workaround.
func runAgent(ctx context.Context, o *agentOptions) error {
	if err := setupLogs(&o.common); err != nil {
		return err
	}
	config, err := restConfig(&o.common)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	hubConfig, err := hubRESTConfig(o)
	if err != nil {
		return fmt.Errorf("hub-kubeconfig: %w", err)
	}
	mgr, err := newAgentManager(ctx, config, hubConfig, o)
	if err != nil {
		return err
	}
	ctrl.Log.Info("Starting", "version", version, "cluster", o.clusterName, "hub", hubConfig.Host, "namespaces", o.namespaces)
	return controllers.Start(ctx, mgr)
}

// newAgentManager returns the manager on the cluster, with the agent and its connection to the hub.
func newAgentManager(ctx context.Context, config, hubConfig *rest.Config, o *agentOptions) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := agent.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, agentManagerOptions(scheme, o))
	if err != nil {
		return nil, err
	}
	hub, err := agent.NewHub(hubConfig, scheme, o.clusterName)
	if err != nil {
		return nil, err
	}
	if err := agent.Add(ctx, mgr, hub, o.agent()); err != nil {
		return nil, err
	}
	return mgr, errors.Join(addProbes(mgr), mgr.AddReadyzCheck("hub", cacheFilled(hub.GetCache(), hubAway)))
}

func agentManagerOptions(scheme *runtime.Scheme, o *agentOptions) ctrl.Options {
	m := commonManagerOptions(scheme, &o.common)
	m.Cache = agent.ClusterCache(o.namespaces)
	return m
}

// hubRESTConfig returns the connection to the hub. The client reads the files in the kubeconfig again after a change.
func hubRESTConfig(o *agentOptions) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.hubKubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = -1, -1
	config.UserAgent = userAgent + "/" + version
	return config, nil
}
