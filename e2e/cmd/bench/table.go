package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/bench"
)

func newTable() *cobra.Command {
	var plots string
	cmd := &cobra.Command{
		Use:   "table RESULT…",
		Short: "Print results side by side, as Markdown, and draw the charts",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			results, err := bench.Read(paths...)
			if err != nil {
				return err
			}
			if plots != "" {
				if err := os.MkdirAll(plots, 0o755); err != nil {
					return err
				}
				if err := bench.Plot(plots, results...); err != nil {
					return err
				}
			}
			return bench.Table(cmd.OutOrStdout(), results...)
		},
	}
	cmd.Flags().StringVar(&plots, "plots", "", "folder for pictures, as SVG")
	return cmd
}
