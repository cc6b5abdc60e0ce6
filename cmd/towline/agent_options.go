package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/agent"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
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

	argocdTree             string
	argocdManagedResources string

	source sourceproxy.Options
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
	fs.StringVar(&o.argocdManagedResources, "argocd-managed-resources", o.argocdManagedResources,
		"namespace of the cluster's Argo CD, to send from the Redis of Argo CD the manifests of the Applications to towline-source on the hub, "+
			"for argocd app diff on the hub; default: no Redis")
	fs.StringVar(&o.source.BindAddress, "source-bind-address", o.source.BindAddress,
		"address of the port at which the agent serves Git repositories of the hub to the cluster's Argo CD, for example :8444; default: no port")
	fs.StringVar(&o.source.Namespace, "source-namespace", o.source.Namespace,
		"with --source-bind-address: namespace of the agent, with the Secret "+sourceproxy.KeysSecret+" and the Service "+sourceproxy.Service+
			"; required")
	fs.StringVar(&o.source.ArgoCDNamespace, "source-argocd-namespace", o.source.ArgoCDNamespace,
		"with --source-bind-address: namespace of the cluster's Argo CD, with the Secret "+sourceproxy.CredentialsSecret+" and the ConfigMap "+
			sourceproxy.CertificatesConfigMap+"; required")
	fs.StringVar(&o.source.Address, "source-address", o.source.Address,
		"with --source-bind-address: HTTPS address that the cluster's Argo CD uses for the port; default: the Service "+sourceproxy.Service+
			" in --source-namespace")
}

// agent returns the options for the agent.
func (o *agentOptions) agent() agent.Options {
	return agent.Options{
		Namespace: o.clusterName, NotComparedAfter: o.notComparedAfter,
		ArgoCDTree: o.argocdTree, ArgoCDManagedResources: o.argocdManagedResources, Source: o.source,
	}
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
	for flag, ns := range map[string]string{"argocd-tree": o.argocdTree, "argocd-managed-resources": o.argocdManagedResources} {
		if ns != "" && len(validation.IsDNS1123Label(ns)) > 0 {
			fail("--%s: %q cannot be a namespace", flag, ns)
		}
	}
	if o.notComparedAfter != 0 && (o.notComparedAfter < minNotComparedAfter || o.notComparedAfter > maxNotComparedAfter) {
		fail("--not-compared-after: %s is not between %s and %s, nor 0", o.notComparedAfter, minNotComparedAfter, maxNotComparedAfter)
	}
	return errors.Join(append(errs, validateSource(o.source))...)
}

// validateSource returns all errors in the options of the source proxy.
func validateSource(o sourceproxy.Options) error {
	if !o.Enabled() {
		if o != (sourceproxy.Options{}) {
			return errors.New("--source-namespace, --source-argocd-namespace, --source-address: of use only with --source-bind-address")
		}
		return nil
	}
	var errs []error
	if err := checkAddress(o.BindAddress); err != nil || o.BindAddress == "0" {
		errs = append(errs, fmt.Errorf("--source-bind-address: %q is not an address like :8444", o.BindAddress))
	}
	for flag, ns := range map[string]string{"source-namespace": o.Namespace, "source-argocd-namespace": o.ArgoCDNamespace} {
		if len(validation.IsDNS1123Label(ns)) > 0 {
			errs = append(errs, fmt.Errorf("--%s: %q cannot be a namespace", flag, ns))
		}
	}
	if _, err := o.URL(); err != nil {
		errs = append(errs, fmt.Errorf("--source-address: %q %w", o.Address, err))
	}
	return errors.Join(errs...)
}
