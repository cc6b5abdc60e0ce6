package hub

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/reading"
)

// explainer returns an Explainer with the flags of the hub's Towline. The flags come from its Deployment, or are the
// defaults if the Deployment is unreadable or missing.
func (r *reader) explainer(ctx context.Context, flags Flags) (*propagation.Explainer, error) {
	e := &propagation.Explainer{Client: r, ArgoCDNamespace: flags.ArgoCDNamespace}
	// A user without access to the Deployment gets the defaults: no tenant needs this right.
	list, err := reading.Controllers(ctx, r.WithWatch)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range list {
		d := &list[i]
		for _, c := range d.Spec.Template.Spec.Containers {
			if len(c.Args) == 0 || c.Args[0] != "controller" {
				continue
			}
			if err := setFlags(e, d.Namespace, c.Args[1:]); err != nil {
				return nil, fmt.Errorf("arguments of Deployment %s/%s: %w", d.Namespace, d.Name, err)
			}
		}
	}
	if e.ArgoCDNamespace == "" {
		e.ArgoCDNamespace = apis.DefaultArgoCDNamespace
	}
	return e, nil
}

// setFlags sets the flags of `towline controller` that affect a decision. Values set by the user stay.
func setFlags(e *propagation.Explainer, namespace string, args []string) error {
	fs := pflag.NewFlagSet("towline controller", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	argocd := fs.String("argocd-namespace", namespace, "")
	fs.StringVar(&e.Clusters, "cluster-authorization", "", "")
	rules := fs.StringSlice("allowed-app-namespaces", nil, "")
	fs.StringToStringVar(&e.AppNamespaces, "app-namespaces", nil, "")
	executor := fs.String("work-executor-service-account", "", "")
	fs.StringVar(&e.Options.Move.Order, "move-order", "", "")
	fs.StringVar(&e.Options.Adopt, "adopt", "", "")
	revocation := fs.String("on-revocation", "", "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if e.ArgoCDNamespace == "" {
		e.ArgoCDNamespace = *argocd
	}
	e.Options.Revocation.Delete = *revocation == "delete"
	var err error
	if *executor != "" {
		if e.Executor, err = authorization.ParseServiceAccount(*executor); err != nil {
			return err
		}
	}
	for _, text := range *rules {
		rule, err := authorization.ParseNamespaceRule(text)
		if err != nil {
			return err
		}
		e.NamespaceRules = append(e.NamespaceRules, rule)
	}
	return nil
}
