//go:build reference

// With the build tag reference, the program writes the reference of the commands into a folder, for `make generate`.
// The needed packages are in no other build.

package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// told are the global flags in the reference. The other flags are kubectl's, and some of their defaults depend on the
// machine.
var told = []string{"context", "kubeconfig", "namespace", "output", "no-color", "argocd-namespace"}

func init() {
	if err := writeReference(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(exitError)
	}
	os.Exit(exitGood)
}

func writeReference(folder string) error {
	cmd := newCommand(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	cmd.DisableAutoGenTag = true
	cmd.Long += "\n\nThe connection flags of kubectl, for example --as and --server, also work: kubectl options lists the flags."
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(told, f.Name) })
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return doc.GenMarkdownTree(cmd, folder)
}
