package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/fleet"
)

type upOptions struct {
	fleet.Options
	clusters int
	labels   []string
	detach   bool
}

func newUp(dir *string) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a fleet, and run the fleet until Ctrl-C or `fleet down`",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(*dir, cmd.OutOrStdout()); err != nil {
				return err
			}
			if o.detach {
				return detach(cmd.Context(), cmd.OutOrStdout())
			}
			return up(cmd.Context(), o.Options)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.clusters, "clusters", 2, "number of managed clusters: cluster1, cluster2, …")
	flags.StringArrayVar(&o.labels, "label", nil, "label of a ManagedCluster, as <cluster>:<key>=<value>; may be repeated")
	flags.BoolVar(&o.HubControlPlaneOnly, "hub-control-plane-only", false,
		"start nothing but the hub's etcd and kube-apiserver, with all CRDs")
	flags.StringSliceVar(&o.ArgoCD, "argocd", nil, "versions of Argo CD ("+strings.Join(fleet.ArgoCDVersions(), ", ")+
		"): the hub gets the first version, and the clusters get the versions in turn (default 3,2.14)")
	endFlag(cmd, &o.End, "run")
	flags.StringVar(&o.Transport, "transport", fleet.TransportHub, "where the work agents fetch their works: "+
		"hub (its API) or maestro (PostgreSQL, mosquitto and Maestro run beside it)")
	flags.IntVar(&o.BasePort, "base-port", 0, "number the ports from here (default: free ports are looked for)")
	flags.Int32Var(&o.LeaseSeconds, "lease-seconds", 0,
		"lease duration of the ManagedClusters; they become Unknown after five (default 2)")
	flags.BoolVar(&o.AuditLog, "audit-log", false, "write the hub's audit log, logs/hub-audit.log")
	flags.BoolVar(&o.detach, "detach", false, "return when the fleet is ready, and leave the fleet in the background")
	return cmd
}

func (o *upOptions) complete(dir string, out io.Writer) error {
	if o.clusters < 0 {
		return fmt.Errorf("--clusters %d: give 0 or more", o.clusters)
	}
	o.Dir, o.Clusters, o.Progress = dir, fleet.ClusterNames(o.clusters), out
	labels, err := parseLabels(o.labels)
	o.ClusterLabels = labels
	return err
}

// endFlag adds the flag for the versions of Kubernetes and OCM.
func endFlag(cmd *cobra.Command, end *fleet.End, verb string) {
	cmd.Flags().StringVar((*string)(end), "versions", "", verb+" the oldest or the newest supported versions of Kubernetes and Open Cluster "+
		"Management, and of Argo CD unless --argocd is given: oldest or newest")
}

// parseLabels parses <cluster>:<key>=<value>.
func parseLabels(flags []string) (map[string]map[string]string, error) {
	labels := map[string]map[string]string{}
	for _, flag := range flags {
		cluster, pair, ok := strings.Cut(flag, ":")
		key, value, ok2 := strings.Cut(pair, "=")
		if !ok || !ok2 {
			return nil, fmt.Errorf("--label %q is not of the form <cluster>:<key>=<value>", flag)
		}
		if labels[cluster] == nil {
			labels[cluster] = map[string]string{}
		}
		labels[cluster][key] = value
	}
	return labels, nil
}

// up runs a fleet until the user requests the end.
func up(ctx context.Context, opts fleet.Options) error {
	f, err := fleet.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer f.Stop()
	describe(opts.Progress, f)
	select {
	case <-ctx.Done():
	case <-f.DownRequested():
	}
	began := time.Now()
	fmt.Fprintln(opts.Progress, "stopping")
	f.Stop()
	fmt.Fprintf(opts.Progress, "stopped in %.1f s; the logs stay in %s\n", time.Since(began).Seconds(), f.Logs())
	return nil
}

func describe(out io.Writer, f *fleet.Fleet) {
	fmt.Fprintf(out, "\nhub       export KUBECONFIG=%s\n", f.Hub.Kubeconfig())
	for _, c := range f.Clusters() {
		fmt.Fprintf(out, "%-9s export KUBECONFIG=%s\n", c.Name(), c.Kubeconfig())
	}
	fmt.Fprintf(out, "git       %s\n", f.Git.URL(fleet.AppsRepo))
	if f.Hub.ArgoCDURL() != "" {
		fmt.Fprintf(out, "argocd    %s\n", f.Hub.ArgoCDURL())
	}
	fmt.Fprintf(out, "programs  export PATH=%s:$PATH\nlogs      %s\n\n", f.Bin(), f.Logs())
	fmt.Fprintf(out, "process %d runs the fleet: Ctrl-C there, or `fleet down`, ends the fleet\n", os.Getpid())
}
