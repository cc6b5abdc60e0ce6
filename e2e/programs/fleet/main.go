// Fleet is a single program with the parts of a fleet. The libraries of Kubernetes are compiled and linked once. The name of
// the call chooses the part, or else the first argument: fleet kube-apiserver --help.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// parts are the main functions of the parts, by the name of the call.
var parts = map[string]func(){
	"etcd": etcd,

	"kube-apiserver":          apiServer,
	"kube-controller-manager": controllerManager,
	"kube-scheduler":          scheduler,
	"kubectl":                 kubectl,

	"work":         work,
	"placement":    placement,
	"registration": registration,
	"addon":        addon,

	"argocd":                           argocd,
	"argocd-3":                         argocd,
	"argocd-application-controller":    applicationController,
	"argocd-applicationset-controller": applicationSetController,
	"argocd-commit-server":             commitServer,
	"argocd-repo-server":               repoServer,
	"argocd-server":                    argoServer,

	"kwok":      kwok,
	"kustomize": kustomize,
}

func main() {
	name := filepath.Base(os.Args[0])
	run, ok := parts[name]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
		run, ok = parts[name]
	}
	if !ok {
		names := slices.Sorted(maps.Keys(parts))
		fmt.Fprintf(os.Stderr, "%s is no part of a fleet. The first argument, or the name of the call, is one of the parts %s.\n",
			name, strings.Join(names, ", "))
		os.Exit(2)
	}
	// The libraries of Kubernetes make global flags, for example --version. The other parts have no such flags.
	if !strings.HasPrefix(name, "kube-") {
		flag.CommandLine = flag.NewFlagSet(name, flag.ExitOnError)
		pflag.CommandLine = pflag.NewFlagSet(name, pflag.ExitOnError)
	}
	run()
}
