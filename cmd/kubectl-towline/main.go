// Command kubectl-towline is a plugin of kubectl and oc: it shows the delivery of Applications for pull, and the
// reasons for delays.
//
// The program reads the hub with the kubeconfig and the rights of the user, and connects to no other server.
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

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

// The exit codes.
const (
	exitGood    = 0
	exitError   = 1
	exitBlocked = 2
	exitWaiting = 3
	exitUnread  = 4
)

// exitCodes has the exit code for each result.
var exitCodes = map[why.State]int{why.OK: exitGood, why.Blocked: exitBlocked, why.Waiting: exitWaiting, why.Unknown: exitUnread}

// found is a result as an error. The command has printed the result already.
type found why.State

// Error implements error.
func (f found) Error() string { return string(f) }

// quiet discards the logs of libraries. They do not help users, and would disturb the output.
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

// exitCode prints an error, and returns the exit code.
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
	text := err.Error() // the text may have names from the hub
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
		Short:         "See the state of Applications for pull, and the reasons",
		Version:       version,
		SilenceErrors: true, // main prints the errors
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl towline"},
		Long: "See the progress of Applications for pull from the ApplicationSet to the cluster, and the reasons.\n\n" +
			"Exit codes: 0 good, 1 error, 2 blocked, 3 waiting, 4 your rights are not enough for an answer.",
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.validate() },
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

// newShowCommands returns the commands for the state of a fleet.
func newShowCommands(o *options) []*cobra.Command {
	return []*cobra.Command{
		newStatusCommand(o), newGetCommand(o), newTreeCommand(o), newMatrixCommand(o), newClustersCommand(o), newEventsCommand(o),
		newStatsCommand(o),
	}
}
