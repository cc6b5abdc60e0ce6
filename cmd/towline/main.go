// Command towline makes Argo CD's pull model work across a fleet that Open Cluster Management runs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set when linking: -ldflags "-X main.version=v1.2.3".
var version = "dev"

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
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
	}
	cmd.AddCommand(newControllerCommand())
	return cmd
}
