// Command server is Maestro's server and the migration of its database. Maestro's own main package includes Maestro's
// agent, and the agent needs a commit of Open Cluster Management that is not published as a module. The agents of a
// fleet come from Open Cluster Management.
package main

import (
	"flag"
	"os"

	"github.com/openshift-online/maestro/cmd/maestro/migrate"
	"github.com/openshift-online/maestro/cmd/maestro/servecmd"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

func main() {
	// A library may have registered the same flags for its own logs.
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	klog.InitFlags(nil)
	root := &cobra.Command{Use: "maestro", Short: "Maestro's server"}
	root.PersistentFlags().AddGoFlagSet(flag.CommandLine)
	root.AddCommand(migrate.NewMigrationCommand(), servecmd.NewServerCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
