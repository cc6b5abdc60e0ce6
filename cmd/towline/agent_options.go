package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/agent"
)

// The bounds of --not-compared-after.
const (
	minNotComparedAfter = 10 * time.Second
	maxNotComparedAfter = 168 * time.Hour
)

// agentOptions are the flags of `towline agent`.
type agentOptions struct {
	common

	hubKubeconfig string
	clusterName   string
	namespaces    []string

	notComparedAfter time.Duration

	argocdTree string
}

func newAgentOptions() *agentOptions {
	return &agentOptions{common: newCommon(), notComparedAfter: agent.DefaultNotComparedAfter}
}

// addFlags registers a flag for every option.
func (o *agentOptions) addFlags(fs *pflag.FlagSet) {
	o.common.addFlags(fs, "managed cluster")
	fs.StringVar(&o.hubKubeconfig, "hub-kubeconfig", o.hubKubeconfig,
		"path of the hub's kubeconfig, mounted by the add-on manager; required")
	fs.StringVar(&o.clusterName, "cluster-name", o.clusterName,
		"name of the ManagedCluster, and of the cluster's namespace on the hub; required")
	fs.StringSliceVar(&o.namespaces, "application-namespaces", o.namespaces,
		"namespaces of the cluster with Applications for the agent; default: all")
	fs.DurationVar(&o.notComparedAfter, "not-compared-after", o.notComparedAfter,
		"after how long without a comparison with Git the agent reports an Application as no longer compared; 0: never")
	fs.StringVar(&o.argocdTree, "argocd-tree", o.argocdTree,
		"namespace of the cluster's Argo CD, to report from the Redis of Argo CD resources that are not in Git, for example ReplicaSets "+
			"and Pods; default: no Redis")
}

// agent returns the options for the agent.
func (o *agentOptions) agent() agent.Options {
	return agent.Options{Namespace: o.clusterName, NotComparedAfter: o.notComparedAfter, ArgoCDTree: o.argocdTree}
}

// notComparedVariable is a variable of the add-on's AddOnDeploymentConfig. Open Cluster Management puts the variable
// into the environment. An argument in the AddOnTemplate is not possible, because a user's own config may lack the
// variable.
const notComparedVariable = "NOT_COMPARED_AFTER"

// fromEnvironment sets options from the environment, unless a flag is set.
func (o *agentOptions) fromEnvironment(lookup func(string) (string, bool), fs *pflag.FlagSet) error {
	value, ok := lookup(notComparedVariable)
	if !ok || value == "" || fs.Changed("not-compared-after") {
		return nil
	}
	after, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("variable %s of the AddOnDeploymentConfig: %w", notComparedVariable, err)
	}
	o.notComparedAfter = after
	return nil
}

// validate returns all errors in the options, with the flag and the accepted values.
func (o *agentOptions) validate() error {
	errs := []error{o.common.validate()}
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.hubKubeconfig == "" {
		fail("--hub-kubeconfig: is needed")
	}
	if len(validation.IsDNS1123Label(o.clusterName)) > 0 {
		fail("--cluster-name: %q cannot be the name of a ManagedCluster", o.clusterName)
	}
	for _, ns := range o.namespaces {
		if len(validation.IsDNS1123Label(ns)) > 0 {
			fail("--application-namespaces: %q cannot be a namespace", ns)
		}
	}
	if o.argocdTree != "" && len(validation.IsDNS1123Label(o.argocdTree)) > 0 {
		fail("--argocd-tree: %q cannot be a namespace", o.argocdTree)
	}
	if o.notComparedAfter != 0 && (o.notComparedAfter < minNotComparedAfter || o.notComparedAfter > maxNotComparedAfter) {
		fail("--not-compared-after: %s is not between %s and %s, nor 0", o.notComparedAfter, minNotComparedAfter, maxNotComparedAfter)
	}
	return errors.Join(errs...)
}
