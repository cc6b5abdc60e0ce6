package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/view"
)

// scope has the flags of commands about many Applications.
type scope struct {
	*options

	all      bool
	problems bool
}

func (s *scope) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "show the Applications of all namespaces")
	cmd.Flags().BoolVar(&s.problems, "problems", false, "show only what is blocked or waiting")
}

// where returns the namespace to read; empty for all namespaces.
func (s *scope) where() (string, error) {
	if s.all {
		return "", nil
	}
	return s.namespace()
}

// begin connects, and returns the namespace of the flags.
func (s *scope) begin() (*hub, string, error) {
	namespace, err := s.where()
	if err != nil {
		return nil, "", err
	}
	h, err := s.connect()
	return h, namespace, err
}

// getOptions are the options of `kubectl towline get apps`.
type getOptions struct {
	scope

	selector string
	cluster  string
}

func newGetCommand(o *options) *cobra.Command {
	g := &getOptions{scope: scope{options: o}}
	apps := &cobra.Command{
		Use:     "apps [APPLICATION...]",
		Aliases: []string{"app", "applications", "application"},
		Short:   "List Applications for pull with the state on the clusters",
		Example: "  # What is blocked or waiting, in all namespaces?\n" +
			"  kubectl towline get apps -A --problems\n\n" +
			"  # What is on cluster7?\n" +
			"  kubectl towline get apps -A --cluster cluster7",
		RunE:              func(cmd *cobra.Command, args []string) error { return g.run(cmd.Context(), args) },
		ValidArgsFunction: o.complete(applicationKind),
	}
	g.addFlags(apps)
	apps.Flags().StringVarP(&g.selector, "selector", "l", "", "only Applications with these labels")
	apps.Flags().StringVar(&g.cluster, "cluster", "", "only Applications of this cluster")
	o.completeFlag(apps, "cluster", clusterKind)
	cmd := &cobra.Command{Use: "get", Short: "List objects with the reports of the clusters"}
	cmd.AddCommand(apps)
	return cmd
}

func (g *getOptions) run(ctx context.Context, names []string) error {
	h, namespace, err := g.begin()
	if err != nil {
		return err
	}
	selector, err := labels.Parse(g.selector)
	if err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	list, err := rows(ctx, h, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r view.Row) bool {
		return g.cluster != "" && r.Cluster != g.cluster || len(names) > 0 && !slices.Contains(names, r.Name)
	})
	for _, name := range names {
		if !slices.ContainsFunc(list, func(r view.Row) bool { return r.Name == name }) {
			return fmt.Errorf("no Application %s for pull in %s", name, whereWords(namespace))
		}
	}
	if g.problems {
		list = view.Problems(list)
	}
	return g.show(h, append([]view.Row{}, list...), objectNames(list), func() *table { return g.rowTable(list, g.all) })
}

// whereWords returns a namespace in words.
func whereWords(namespace string) string {
	if namespace == "" {
		return "any namespace"
	}
	return "namespace " + namespace
}

// objectNames returns the names of the rows' Applications for -o name.
func objectNames(rows []view.Row) []string {
	out := make([]string, len(rows))
	for i := range rows {
		out[i] = "application.argoproj.io/" + rows[i].ID()
	}
	return out
}
