package index

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Direct is a client of the API server itself, for looking at a single Application. Direct has no indexes: the API
// server selects objects by name instead. Direct therefore does not find the works of an earlier Application with the
// same name. Direct creates nothing.
type Direct struct {
	client.Client

	// Work is the name of the Application's work.
	Work string
}

// Create does nothing: a dry run would need the right to create works, and users do not have the right.
func (*Direct) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

// applications returns the pull Applications of the given name, in any namespace.
func (d *Direct) applications(ctx context.Context, name string) []*argocd.Application {
	list := &argocd.ApplicationList{}
	if d.List(ctx, list, client.MatchingFields{"metadata.name": name}, client.HasLabels{apis.LabelPull}) != nil {
		return nil // the reader of Direct has recorded the error, and reports an incomplete answer
	}
	return pointers(list.Items)
}

// owners returns the Applications that can have the named work.
func (d *Direct) owners(ctx context.Context, work string) []*argocd.Application {
	name := work
	if i := strings.LastIndexByte(work, '-'); i > 0 {
		name = work[:i]
	}
	return d.applications(ctx, name)
}
