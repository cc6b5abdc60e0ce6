package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
)

// authorizationOptions are the flags about permissions of Applications on clusters.
type authorizationOptions struct {
	clusterAuthorization string
	argocdNamespace      string
	allowedAppNamespaces []string
	appNamespaces        map[string]string
	onRevocation         string
	executor             string
}

// The treatment of a work whose Application has lost the permission.
const (
	freeze   = "freeze"
	deleteIt = "delete"
)

// podNamespaceFile has the name of a pod's own namespace.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func newAuthorizationOptions() authorizationOptions {
	return authorizationOptions{
		clusterAuthorization: controllers.ClusterModes[0],
		argocdNamespace:      cmp.Or(podNamespace(podNamespaceFile), controllers.DefaultArgoCDNamespace),
		onRevocation:         freeze,
	}
}

// podNamespace returns the namespace of the pod, from a file of the pod's ServiceAccount; empty outside a pod.
func podNamespace(file string) string {
	own, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(own))
}

func (o *authorizationOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.clusterAuthorization, "cluster-authorization", o.clusterAuthorization,
		"permission of a namespace to use a cluster: binding-or-placement (a ManagedClusterSetBinding or a PlacementDecision in the "+
			"namespace), placement (a PlacementDecision in the namespace), none (every namespace may use every cluster; for a hub with one tenant)")
	fs.StringVar(&o.argocdNamespace, "argocd-namespace", o.argocdNamespace,
		"namespace of the hub's Argo CD and its AppProjects; default: the namespace of the pod, or "+controllers.DefaultArgoCDNamespace+" outside a pod")
	fs.StringSliceVar(&o.allowedAppNamespaces, "allowed-app-namespaces", o.allowedAppNamespaces,
		"<hub>=<cluster>: Applications in the hub namespaces that match the first glob may choose the cluster namespaces that match the "+
			"second glob; Applications in --argocd-namespace may choose any namespace")
	fs.StringToStringVar(&o.appNamespaces, "app-namespaces", o.appNamespaces,
		"<cluster>=<namespace>: the namespace on the cluster for Applications without an annotation for the namespace; "+controllers.NamespaceOfHub+
			" stands for the Application's namespace on the hub; if the hub is a managed cluster, the namespace on the hub must be a different namespace")
	fs.StringVar(&o.onRevocation, "on-revocation", o.onRevocation,
		"the handling of the ManifestWork of an Application that is no longer permitted on the cluster: freeze (the running app is left in place, "+
			"and the cluster deploys no changes) or delete (Towline removes the app if a rule has refused the app for a minute, and leaves the app in "+
			"place if an object is only missing, or if rules refuse more than ten apps within ten minutes)")
	fs.StringVar(&o.executor, "work-executor-service-account", o.executor,
		"<namespace>/<name> of a ServiceAccount on the clusters: the work agent applies Applications with the rights of the account only; "+
			"the annotation "+apis.AnnotationExecutor+" of an AppProject overrides the flag")
}

// validate returns all errors in the options, with the flag and the accepted values.
func (o *authorizationOptions) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if !slices.Contains(controllers.ClusterModes, o.clusterAuthorization) {
		fail("--cluster-authorization: %q is not one of %s", o.clusterAuthorization, strings.Join(controllers.ClusterModes, ", "))
	}
	if len(validation.IsDNS1123Label(o.argocdNamespace)) > 0 {
		fail("--argocd-namespace: %q cannot be a namespace", o.argocdNamespace)
	}
	if _, err := o.namespaceRules(); err != nil {
		fail("--allowed-app-namespaces: %w", err)
	}
	for cluster, namespace := range o.appNamespaces {
		if len(validation.IsDNS1123Label(cluster)) > 0 || !controllers.IsAppNamespace(namespace) {
			fail("--app-namespaces: %q is not <cluster>=<namespace>, with %s for the one on the hub", cluster+"="+namespace, controllers.NamespaceOfHub)
		}
	}
	if o.onRevocation != freeze && o.onRevocation != deleteIt {
		fail("--on-revocation: %q is not %s or %s", o.onRevocation, freeze, deleteIt)
	}
	if _, err := o.executorAccount(); err != nil {
		fail("--work-executor-service-account: %w", err)
	}
	return errors.Join(errs...)
}

func (o *authorizationOptions) executorAccount() (types.NamespacedName, error) {
	if o.executor == "" {
		return types.NamespacedName{}, nil
	}
	return authorization.ParseServiceAccount(o.executor)
}

func (o *authorizationOptions) namespaceRules() ([]authorization.NamespaceRule, error) {
	var rules []authorization.NamespaceRule
	var errs []error
	for _, s := range o.allowedAppNamespaces {
		rule, err := authorization.ParseNamespaceRule(s)
		rules, errs = append(rules, rule), append(errs, err)
	}
	return rules, errors.Join(errs...)
}

// settings returns the options for the controllers. Call validate first.
func (o *authorizationOptions) settings() controllers.Authorization {
	rules, err := o.namespaceRules()
	if err != nil {
		panic(err)
	}
	executor, err := o.executorAccount()
	if err != nil {
		panic(err)
	}
	return controllers.Authorization{
		Clusters:        o.clusterAuthorization,
		ArgoCDNamespace: o.argocdNamespace,
		NamespaceRules:  rules,
		Executor:        executor,
		Revocation:      delivery.RevocationOptions{Delete: o.onRevocation == deleteIt},
	}
}
