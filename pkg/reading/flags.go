package reading

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
)

// Flags are the flags of the hub's `towline controller` for decisions about Applications, by the names of the flags.
// The zero value has the defaults.
type Flags struct {
	// ArgoCDNamespace stays if the user has set the namespace.
	ArgoCDNamespace string

	ClusterAuthorization string
	AllowedAppNamespaces []string
	AppNamespaces        map[string]string
	Executor             string
	MoveOrder            string
	Adopt                string
	OnRevocation         string
	ArgoCDRedis          string
	Controllers          []string
}

// Read reads the flags from the Deployment of the hub's Towline. Without a Deployment, the flags stay.
func (f *Flags) Read(ctx context.Context, c client.Reader) error {
	list, err := Controllers(ctx, c)
	if err != nil {
		return err
	}
	for i := range list {
		for _, container := range list[i].Spec.Template.Spec.Containers {
			if len(container.Args) == 0 || container.Args[0] != "controller" {
				continue
			}
			if err := f.Parse(list[i].Namespace, container.Args[1:]); err != nil {
				return fmt.Errorf("arguments of Deployment %s/%s: %w", list[i].Namespace, list[i].Name, err)
			}
			return nil
		}
	}
	return nil
}

// Parse reads the flags from the arguments of `towline controller` in a namespace. Unknown flags are ignored.
func (f *Flags) Parse(namespace string, args []string) error {
	fs := pflag.NewFlagSet("towline controller", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	argocd := fs.String("argocd-namespace", namespace, "")
	fs.StringVar(&f.ClusterAuthorization, "cluster-authorization", "", "")
	fs.StringSliceVar(&f.AllowedAppNamespaces, "allowed-app-namespaces", nil, "")
	fs.StringToStringVar(&f.AppNamespaces, "app-namespaces", nil, "")
	fs.StringVar(&f.Executor, "work-executor-service-account", "", "")
	fs.StringVar(&f.MoveOrder, "move-order", "", "")
	fs.StringVar(&f.Adopt, "adopt", "", "")
	fs.StringVar(&f.OnRevocation, "on-revocation", "", "")
	fs.StringVar(&f.ArgoCDRedis, "argocd-redis", "", "")
	fs.StringSliceVar(&f.Controllers, "controllers", nil, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	f.ArgoCDNamespace = cmp.Or(f.ArgoCDNamespace, *argocd)
	return nil
}

// Runs reports whether a controller runs. Without a list of names, all controllers run.
func (f *Flags) Runs(name string) bool {
	return len(f.Controllers) == 0 || slices.Contains(f.Controllers, "*") || slices.Contains(f.Controllers, name)
}

// Explainer returns an Explainer with the flags.
func (f *Flags) Explainer(c client.Client) (*propagation.Explainer, error) {
	e := &propagation.Explainer{
		Client: c, Clusters: f.ClusterAuthorization, ArgoCDNamespace: cmp.Or(f.ArgoCDNamespace, apis.DefaultArgoCDNamespace),
		AppNamespaces: f.AppNamespaces,
		Options: delivery.Options{
			Move: delivery.MoveOptions{Order: f.MoveOrder}, Adopt: f.Adopt, Revocation: delivery.RevocationOptions{Delete: f.OnRevocation == "delete"},
		},
	}
	if f.Executor != "" {
		account, err := authorization.ParseServiceAccount(f.Executor)
		if err != nil {
			return nil, fmt.Errorf("--work-executor-service-account of Towline's Deployment: %w", err)
		}
		e.Executor = account
	}
	for _, r := range f.AllowedAppNamespaces {
		rule, err := authorization.ParseNamespaceRule(r)
		if err != nil {
			return nil, fmt.Errorf("--allowed-app-namespaces of Towline's Deployment: %w", err)
		}
		e.NamespaceRules = append(e.NamespaceRules, rule)
	}
	return e, nil
}
