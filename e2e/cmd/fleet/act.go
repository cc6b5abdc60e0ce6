package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/fleet"
)

func newAct(dir *string, action, short string) *cobra.Command {
	return &cobra.Command{
		Use:   action + " <hub|cluster> <agent|apiserver|argocd|process>",
		Short: short,
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := fleet.Connect(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			plane, err := planeOf(f, args[0])
			if err != nil {
				return err
			}
			began := time.Now()
			do := plane.StopProcess
			if action == "start" {
				do = plane.StartProcess
			}
			if err := do(cmd.Context(), args[1]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s: done in %.1f s\n", action, args[0], args[1], time.Since(began).Seconds())
			return nil
		},
	}
}

func planeOf(f *fleet.Fleet, name string) (*fleet.ControlPlane, error) {
	if name == f.Hub.Name() {
		return &f.Hub.ControlPlane, nil
	}
	known := []string{f.Hub.Name()}
	for _, c := range f.Clusters() {
		if c.Name() == name {
			return &c.ControlPlane, nil
		}
		known = append(known, c.Name())
	}
	return nil, fmt.Errorf("this fleet has no %q: name one of %v", name, known)
}

func newRebuild(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild <cluster>",
		Short: "Replace a cluster by an empty one of the same name",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := fleet.Connect(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			for _, c := range f.Clusters() {
				if c.Name() == args[0] {
					return c.Rebuild(cmd.Context())
				}
			}
			_, err = planeOf(f, args[0])
			if err == nil {
				err = fmt.Errorf("only a managed cluster can be rebuilt: for a new hub, `fleet down` and `fleet up`")
			}
			return err
		},
	}
}

func newDown(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the fleet and remove its data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fleet.Down(cmd.Context(), *dir); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "stopped")
			return nil
		},
	}
}
