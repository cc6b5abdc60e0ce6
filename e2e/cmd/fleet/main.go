// Command fleet runs a hub, managed clusters and a Git server as local processes. See package fleet.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	log.SetLogger(klog.Background()) // otherwise, controller-runtime prints a stack after 30 seconds
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "fleet",
		Short:         "A real Open Cluster Management hub and managed clusters with Argo CD, as local processes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	var dir string
	root.PersistentFlags().StringVar(&dir, "dir", "",
		"state directory (default: $TOWLINE_FLEET_DIR, else .fleet in the checkout)")
	root.AddCommand(
		newUp(&dir), newDown(&dir), newStatus(&dir), newEnv(&dir),
		newAct(&dir, "stop", "Stop a process or a group of a plane"),
		newAct(&dir, "start", "Start again what stop stopped"),
		newRebuild(&dir), newBuild(), newAssets(), newArchive(),
	)
	return root
}
