// Command kubectl-towline is a plugin of kubectl and oc: it shows where Applications for pull are on their way, and why.
//
// It reads the hub with the kubeconfig and the rights of whoever calls it, and connects to nothing else.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/why"
)

// version is set when linking: -ldflags "-X main.version=v1.2.3".
var version = "dev"

// The exit codes.
const (
	exitGood    = 0
	exitError   = 1
	exitBlocked = 2
	exitWaiting = 3
	exitUnread  = 4
)

// exitCodes are those of what a command has found.
var exitCodes = map[why.State]int{why.OK: exitGood, why.Blocked: exitBlocked, why.Waiting: exitWaiting, why.Unknown: exitUnread}

// found is what a command has found, and has shown already.
type found why.State

// Error implements error.
func (f found) Error() string { return string(f) }

// quiet silences what libraries log: it says nothing to users, and would stand among what is printed.
func quiet() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

func main() {
	quiet()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	cmd := newCommand(streams)
	os.Exit(exitCode(cmd.ExecuteContext(ctrl.SetupSignalHandler()), streams.ErrOut))
}

// exitCode is that of an error, which it prints.
func exitCode(err error, out io.Writer) int {
	var f found
	switch {
	case err == nil:
		return exitGood
	case errors.As(err, &f):
		return exitCodes[why.State(f)]
	case errors.As(err, &failure{}):
		return exitError
	}
	text := err.Error() // with names from the hub in it
	fmt.Fprintln(out, "error:", feedback.Clean(text, len(text)))
	if apierrors.IsForbidden(err) {
		return exitUnread
	}
	return exitError
}

func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := newOptions(streams)
	cmd := &cobra.Command{
		Use:           "kubectl-towline",
		Short:         "See where Applications for pull are, and why",
		Version:       version,
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl towline"},
		Long: "See how far Applications for pull have come on the way from their ApplicationSet to their cluster, and why.\n\n" +
			"Exit codes: 0 good, 1 error, 2 blocked, 3 waiting, 4 your rights are not enough to find out.",
	}
	o.addFlags(cmd.PersistentFlags())
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	cmd.AddCommand(newShowCommands(o)...)
	o.completeFlag(cmd, "namespace", namespaceKind)
	cmd.AddCommand(newVerbCommands(o)...)
	cmd.AddCommand(newOrphansCommand(o))
	cmd.AddCommand(newCheckCommand(o))
	cmd.AddCommand(newWhyCommand(o))
	cmd.AddCommand(newBundleCommand(o), newDashboardCommand(o))
	return cmd
}

// newShowCommands are those that show a fleet.
func newShowCommands(o *options) []*cobra.Command {
	return []*cobra.Command{
		newStatusCommand(o), newGetCommand(o), newTreeCommand(o), newMatrixCommand(o), newClustersCommand(o), newEventsCommand(o),
		newStatsCommand(o),
	}
}
