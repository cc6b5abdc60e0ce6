// Command mutate changes the decisions of some packages one at a time. The command fails for each change that the tests
// do not detect and that has no explanation. See package mutation.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/towline-io/towline/e2e/mutation"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := flag.String("root", "..", "the module whose packages are changed")
	parallel := flag.Int("parallel", 2, "how many runs of tests at a time")
	flag.Parse()
	at, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	targets, err := chosen(flag.Args())
	if err != nil {
		return err
	}
	open := 0
	for _, t := range targets {
		results, err := mutation.Run(ctx, at, t, *parallel)
		if err != nil {
			return err
		}
		s, err := mutation.Judge(results)
		if err != nil {
			return err
		}
		fmt.Println(s)
		open += s.Open
	}
	if open > 0 {
		return fmt.Errorf("no test notices %d changes, and e2e/mutation/explained.yaml does not say why", open)
	}
	return nil
}

// chosen returns the targets of the packages; without packages, all targets.
func chosen(packages []string) ([]mutation.Target, error) {
	if len(packages) == 0 {
		return mutation.Targets, nil
	}
	var out []mutation.Target
	for _, p := range packages {
		i := slices.IndexFunc(mutation.Targets, func(t mutation.Target) bool { return t.Package == p })
		if i < 0 {
			return nil, fmt.Errorf("%s is not one of the packages that are changed: see e2e/mutation/targets.go", p)
		}
		out = append(out, mutation.Targets[i])
	}
	return out, nil
}
