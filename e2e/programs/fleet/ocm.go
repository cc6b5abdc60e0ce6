package main

import (
	goflag "flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/cmd/hub"
	"open-cluster-management.io/ocm/pkg/cmd/spoke"
	"open-cluster-management.io/ocm/pkg/features"
)

func work() {
	runOCM("work", ocmfeature.DefaultHubWorkFeatureGates, spoke.NewWorkAgent, hub.NewWorkController)
}

func placement() { runOCM("placement", nil, hub.NewPlacementController) }

func registration() {
	runOCM("registration", ocmfeature.DefaultHubRegistrationFeatureGates, hub.NewRegistrationController, spoke.NewRegistrationAgent)
}

func addon() { runOCM("addon", nil, hub.NewAddonManager) }

// runOCM runs a program of Open Cluster Management. The webhooks are no part of a fleet. A new subcommand
// copies the global flags, so the flags come first.
func runOCM(name string, gates map[featuregate.Feature]featuregate.FeatureSpec, subcommands ...func() *cobra.Command) {
	pflag.CommandLine.SetNormalizeFunc(utilflag.WordSepNormalizeFunc)
	pflag.CommandLine.AddGoFlagSet(goflag.CommandLine)
	logs.AddFlags(pflag.CommandLine)
	logs.InitLogs()
	defer logs.FlushLogs()
	if gates != nil {
		utilruntime.Must(features.HubMutableFeatureGate.Add(gates))
		features.HubMutableFeatureGate.AddFlag(pflag.CommandLine)
	}
	command := &cobra.Command{Use: name}
	for _, subcommand := range subcommands {
		command.AddCommand(subcommand())
	}
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic
	}
}
