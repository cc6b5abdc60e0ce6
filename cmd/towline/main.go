// Command towline runs Argo CD's pull model across a fleet of Open Cluster Management.
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

var buildInfo = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "towline_build_info",
	Help: "Always 1. The label version is the running version of Towline.",
}, []string{"version"})

func init() {
	metrics.Registry.MustRegister(buildInfo)
	buildInfo.WithLabelValues(version).Set(1)
}

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "towline:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "towline",
		Short:         "Argo CD's pull model across an Open Cluster Management fleet",
		Version:       version,
		SilenceErrors: true, // main prints the errors
		SilenceUsage:  true,
	}
	cmd.SetFlagErrorFunc(explainRemoved)
	cmd.AddCommand(newControllerCommand(), newAgentCommand())
	return cmd
}
