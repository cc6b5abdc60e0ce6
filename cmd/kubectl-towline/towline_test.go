package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/towline-io/towline/controllers"
)

// TestWhichControllersRun checks the running controllers from --controllers of Towline's Deployment.
func TestWhichControllersRun(t *testing.T) {
	for _, name := range []string{resourceTree, gitOpsCluster} {
		if !slices.Contains(controllers.Names, name) {
			t.Errorf("%s: %v", name, controllers.Names)
		}
	}
	for arg, want := range map[string]bool{
		"": true, "--controllers=*": true, "--controllers=status,resourcetree": true, "--controllers=status": false,
	} {
		one, fs := &towline{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		one.controllerFlags(fs, "argocd")
		if err := fs.Parse([]string{arg}); err != nil {
			t.Fatal(err)
		}
		if got := one.runs(resourceTree); got != want {
			t.Errorf("%s: %t", arg, got)
		}
	}
}
