package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds for the completion of names, besides the kinds of Argo CD.
var (
	workKind      = schema.GroupVersion(workv1.GroupVersion).WithKind("ManifestWork")
	clusterKind   = schema.GroupVersion(clusterv1.GroupVersion).WithKind("ManagedCluster")
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")
)

// completionTime is the time limit for a completion in the shell. A single page of names is enough.
const completionTime = "3s"

// complete completes arguments with the names of objects of the kinds.
func (o *options) complete(kinds ...schema.GroupVersionKind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, kind := range kinds {
			for _, name := range o.names(cmd, kind) {
				if strings.HasPrefix(name, begun) && !slices.Contains(args, name) {
					out = append(out, name)
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// one completes only the first argument.
func one(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// completeFlag completes the value of a flag with names.
func (o *options) completeFlag(cmd *cobra.Command, flag string, kind schema.GroupVersionKind) {
	if err := cmd.RegisterFlagCompletionFunc(flag, o.complete(kind)); err != nil {
		panic(err) // the flag does not exist
	}
}

// names returns the names on a page of objects; none after an error, because a completion cannot show errors.
func (o *options) names(cmd *cobra.Command, kind schema.GroupVersionKind) []string {
	timeout := cmp.Or(*o.config.Timeout, "0")
	if d, err := time.ParseDuration(timeout); err != nil || d == 0 {
		*o.config.Timeout = completionTime
	}
	h, err := o.connect()
	if err != nil {
		return nil
	}
	list := metadataList(kind)
	opts := []client.ListOption{client.Limit(pageSize)}
	if kind == applicationKind || kind == applicationSetKind {
		namespace, err := o.namespace()
		if err != nil {
			return nil
		}
		opts = append(opts, client.InNamespace(namespace))
	}
	if h.List(cmd.Context(), list, opts...) != nil {
		return nil
	}
	out := make([]string, len(list.Items))
	for i := range list.Items {
		out[i] = list.Items[i].Name
	}
	return out
}

// oneName requires exactly one argument. what describes the argument in the error.
func oneName(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("give a single argument, %s: %s --help", what, cmd.CommandPath())
		}
		return nil
	}
}
