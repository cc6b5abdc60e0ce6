package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/fleet"
)

func newBuild() *cobra.Command {
	var versions []string
	var transport string
	var end fleet.End
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the programs that are missing in the cache (minutes the first time)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			builder := fleet.Builder{ArgoCD: versions, End: end, Transport: transport, Progress: cmd.ErrOrStderr()}
			programs, err := builder.Build(cmd.Context())
			if err != nil {
				return err
			}
			for _, name := range programs.Names() {
				fmt.Fprintln(cmd.OutOrStdout(), programs.Path(name))
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&versions, "argocd", nil, "versions of Argo CD to build (default: the versions of a fleet)")
	endFlag(cmd, &end, "build")
	cmd.Flags().StringVar(&transport, "transport", fleet.TransportHub, "build the programs for a fleet with this transport: "+
		strings.Join(fleet.Transports(), " or "))
	return cmd
}

func newAssets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build the program of the fleet, and print a folder with etcd, kube-apiserver and kubectl for KUBEBUILDER_ASSETS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			builder := fleet.Builder{Progress: cmd.ErrOrStderr()}
			dir, err := builder.Assets(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
}

func newArchive() *cobra.Command {
	return &cobra.Command{
		Use:   "archive FOLDER",
		Short: "Build the program of the fleet, and write the archive of a release into a folder; the checksum must be in released.txt",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			builder := fleet.Builder{Progress: cmd.ErrOrStderr()}
			line, err := builder.Archive(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), line)
			return nil
		},
	}
}
