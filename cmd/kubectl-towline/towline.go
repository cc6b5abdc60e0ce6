package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/reading"
)

// towline has the flags of the hub's `towline controller` for decisions about Applications.
type towline struct {
	argocdNamespace      string
	clusterAuthorization string
	allowedAppNamespaces []string
	appNamespaces        map[string]string
	executor             string
	moveOrder            string
	adopt                string
	onRevocation         string
	argocdRedis          string
	controllers          []string
}

// addFlags adds the flags shared with `towline controller`.
func (t *towline) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&t.argocdNamespace, "argocd-namespace", "", "namespace of the hub's Argo CD; default: --argocd-namespace of Towline's Deployment")
}

// read reads the flags of the hub's Towline from its Deployment, if the Deployment exists and the user may read it.
func (t *towline) read(ctx context.Context, c client.Reader) error {
	list, err := reading.Controllers(ctx, c)
	if err != nil {
		return err
	}
	for i := range list {
		for _, container := range list[i].Spec.Template.Spec.Containers {
			fs := pflag.NewFlagSet("towline controller", pflag.ContinueOnError)
			fs.ParseErrorsAllowlist.UnknownFlags = true
			t.controllerFlags(fs, list[i].Namespace)
			if args := container.Args; len(args) > 0 && args[0] == "controller" {
				if err := fs.Parse(args[1:]); err != nil {
					return fmt.Errorf("arguments of Deployment %s/%s: %w", list[i].Namespace, list[i].Name, err)
				}
				return nil
			}
		}
	}
	return nil
}

// controllerFlags adds the relevant flags of the controller. A flag set by the user stays.
func (t *towline) controllerFlags(fs *pflag.FlagSet, namespace string) {
	argocd := t.argocdNamespace
	if argocd == "" {
		t.argocdNamespace, argocd = namespace, namespace
		fs.StringVar(&t.argocdNamespace, "argocd-namespace", argocd, "")
	}
	fs.StringVar(&t.clusterAuthorization, "cluster-authorization", "", "")
	fs.StringSliceVar(&t.allowedAppNamespaces, "allowed-app-namespaces", nil, "")
	fs.StringToStringVar(&t.appNamespaces, "app-namespaces", nil, "")
	fs.StringVar(&t.executor, "work-executor-service-account", "", "")
	fs.StringVar(&t.moveOrder, "move-order", "", "")
	fs.StringVar(&t.adopt, "adopt", "", "")
	fs.StringVar(&t.onRevocation, "on-revocation", "", "")
	fs.StringVar(&t.argocdRedis, "argocd-redis", "", "")
	fs.StringSliceVar(&t.controllers, "controllers", nil, "")
}

// The names of controllers in --controllers: of Argo CD's Redis, and of GitOpsClusters.
const (
	resourceTree  = "resourcetree"
	gitOpsCluster = "gitopscluster"
)

// runs reports whether a controller runs. Without a list of names, all controllers run.
func (t *towline) runs(name string) bool {
	return len(t.controllers) == 0 || slices.Contains(t.controllers, "*") || slices.Contains(t.controllers, name)
}

// explainer returns an Explainer with the flags of the hub's Towline.
func (t *towline) explainer(c client.Client) (*propagation.Explainer, error) {
	e := &propagation.Explainer{
		Client: c, Clusters: t.clusterAuthorization, ArgoCDNamespace: t.argocdNamespace, AppNamespaces: t.appNamespaces,
		Options: delivery.Options{Move: delivery.MoveOptions{Order: t.moveOrder}, Adopt: t.adopt},
	}
	if e.ArgoCDNamespace == "" {
		e.ArgoCDNamespace = apis.DefaultArgoCDNamespace
	}
	e.Options.Revocation.Delete = t.onRevocation == "delete"
	if t.executor != "" {
		account, err := authorization.ParseServiceAccount(t.executor)
		if err != nil {
			return nil, fmt.Errorf("--work-executor-service-account of Towline's Deployment: %w", err)
		}
		e.Executor = account
	}
	for _, r := range t.allowedAppNamespaces {
		rule, err := authorization.ParseNamespaceRule(r)
		if err != nil {
			return nil, fmt.Errorf("--allowed-app-namespaces of Towline's Deployment: %w", err)
		}
		e.NamespaceRules = append(e.NamespaceRules, rule)
	}
	return e, nil
}
