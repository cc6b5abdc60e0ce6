package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/dependency"
)

// dependencyOptions are the flags about what travels beside Applications.
type dependencyOptions struct{ dependencies dependency.Options }

func newDependencyOptions() dependencyOptions {
	return dependencyOptions{dependency.Options{Projects: true, Namespaces: true}}
}

func (o *dependencyOptions) addFlags(fs *pflag.FlagSet) {
	c := &o.dependencies
	fs.StringVar(&c.ClusterNamespace, "cluster-argocd-namespace", c.ClusterNamespace,
		"namespace of Argo CD on the clusters; an annotation of the ManagedCluster overrides it; default: --argocd-namespace")
	fs.BoolVar(&c.Projects, "propagate-app-projects", c.Projects,
		"send the AppProjects of Applications to their clusters, except the project \"default\"")
	fs.BoolVar(&c.Namespaces, "propagate-namespaces", c.Namespaces,
		"create the namespaces of Applications on their clusters where they are missing; Towline never deletes them")
	fs.BoolVar(&c.Objects, "propagate-objects", c.Objects,
		"send the Secrets and ConfigMaps that Applications name to their clusters; Towline needs the right to read them in all namespaces")
}

// validate returns every mistake in the options, each with the flag and what it takes.
func (o *dependencyOptions) validate() error {
	if namespace := o.dependencies.ClusterNamespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return fmt.Errorf("--cluster-argocd-namespace: %q cannot be a namespace", namespace)
	}
	return nil
}
