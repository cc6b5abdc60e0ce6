package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/fleet"
)

func newStatus(dir *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the fleet and its processes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := fleet.ReadStatus(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			switch output {
			case "json":
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			case "":
				printStatus(cmd.OutOrStdout(), status)
				return nil
			}
			return fmt.Errorf("-o %q is not known: leave -o out for a table, or give json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, or nothing for a table")
	return cmd
}

func printStatus(out io.Writer, status fleet.Status) {
	phase := "ready"
	if !status.Ready {
		phase = "starting or stopping"
	}
	fmt.Fprintf(out, "%s: %s, process %d, since %s\ngit %s, argocd %s\n\n", status.Dir, phase, status.Supervisor.PID,
		status.Started.Format(time.DateTime), status.Git, orNone(status.ArgoCD))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PLANE\tAVAILABLE\tPROCESS\tSTATE\tPID\tMEMORY\tRESTARTS\tAGE")
	processes, total := 0, 0
	for _, plane := range status.Planes {
		for _, p := range plane.Processes {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d MiB\t%d\t%s\n", plane.Name, orNone(plane.Available), p.Name,
				stateOf(p), p.PID, p.MemoryKB>>10, p.Restarts, time.Since(p.Since).Round(time.Second))
			processes, total = processes+1, total+p.MemoryKB
		}
	}
	_ = table.Flush()
	fmt.Fprintf(out, "\n%d processes, %d MiB\n", processes, total>>10)
}

func stateOf(p fleet.ProcessStatus) string {
	if p.Running {
		return "running"
	}
	return "stopped (" + p.Exit + ")"
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newEnv(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print export lines for a shell: eval \"$(fleet env)\"",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := fleet.Connect(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			printEnv(cmd.OutOrStdout(), f)
			return nil
		},
	}
}

func printEnv(out io.Writer, f *fleet.Fleet) {
	fmt.Fprintf(out, "export %s=%s\n", fleet.DirEnv, f.Dir())
	fmt.Fprintf(out, "export PATH=%s:\"$PATH\"\n", f.Bin())
	fmt.Fprintf(out, "export KUBECONFIG=%s\n", f.Hub.Kubeconfig())
	fmt.Fprintf(out, "export HUB=%s\n", f.Hub.Kubeconfig())
	for _, c := range f.Clusters() {
		name := strings.ToUpper(strings.ReplaceAll(c.Name(), "-", "_"))
		fmt.Fprintf(out, "export %s=%s\n", name, c.Kubeconfig())
	}
	fmt.Fprintf(out, "export GIT_URL=%s\n", f.Git.URL(fleet.AppsRepo))
	if f.Hub.ArgoCDURL() != "" {
		fmt.Fprintf(out, "export ARGOCD_URL=%s\n", f.Hub.ArgoCDURL())
	}
}
