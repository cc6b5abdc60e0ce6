package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/dependency"
)

// dependencyOptions are the flags about the dependencies of Applications on their clusters.
type dependencyOptions struct {
	clusterNamespace string
	propagated       []string
}

// The values of --propagate.
const (
	propagateProjects   = "app-projects"
	propagateNamespaces = "namespaces"
	propagateObjects    = "objects"
)

var propagations = []string{propagateProjects, propagateNamespaces, propagateObjects}

func newDependencyOptions() dependencyOptions {
	return dependencyOptions{propagated: []string{propagateProjects, propagateNamespaces}}
}

func (o *dependencyOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.clusterNamespace, "cluster-argocd-namespace", o.clusterNamespace,
		"namespace of Argo CD on the clusters; an annotation of the ManagedCluster overrides the flag; default: --argocd-namespace")
	fs.StringSliceVar(&o.propagated, "propagate", o.propagated,
		"objects for the clusters beside Applications: "+propagateProjects+" (their AppProjects, except the project \"default\"), "+
			propagateNamespaces+" (their namespaces, for clusters without these; Towline never deletes a namespace), "+propagateObjects+
			" (their Secrets and ConfigMaps; Towline needs the right to read Secrets and ConfigMaps in all namespaces); empty: nothing")
}

// validate returns all errors in the options, with the flag and its values.
func (o *dependencyOptions) validate() error {
	var errs []error
	if namespace := o.clusterNamespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		errs = append(errs, fmt.Errorf("--cluster-argocd-namespace: %q cannot be a namespace", namespace))
	}
	for _, name := range o.propagated {
		if !slices.Contains(propagations, name) {
			errs = append(errs, fmt.Errorf("--propagate: %q is not one of %s", name, strings.Join(propagations, ", ")))
		}
	}
	return errors.Join(errs...)
}

// dependencies returns the options for the controllers.
func (o *dependencyOptions) dependencies() dependency.Options {
	return dependency.Options{
		ClusterNamespace: o.clusterNamespace,
		Projects:         slices.Contains(o.propagated, propagateProjects),
		Namespaces:       slices.Contains(o.propagated, propagateNamespaces),
		Objects:          slices.Contains(o.propagated, propagateObjects),
	}
}
