package index

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Direct is a client of the API server itself, for whoever looks at one Application only. It has no indexes: what they would find
// is selected by the API server by its name. So it does not find the works of an earlier Application of the same name. It writes
// nothing.
type Direct struct {
	client.Client

	// Work is the name of the work of the Application that is looked at.
	Work string
}

// Create does nothing: a dry run needs the right to make works, which people do not have.
func (*Direct) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

// applications are those for pull of that name, in any namespace.
func (d *Direct) applications(ctx context.Context, name string) []*argocd.Application {
	list := &argocd.ApplicationList{}
	if d.List(ctx, list, client.MatchingFields{"metadata.name": name}, client.HasLabels{apis.LabelPull}) != nil {
		return nil // the reader knows that, and that the answer is not whole
	}
	return pointers(list.Items)
}

// owners are the Applications that can have the work of that name.
func (d *Direct) owners(ctx context.Context, work string) []*argocd.Application {
	name := work
	if i := strings.LastIndexByte(work, '-'); i > 0 {
		name = work[:i]
	}
	return d.applications(ctx, name)
}
