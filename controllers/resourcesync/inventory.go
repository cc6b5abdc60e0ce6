package resourcesync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
)

// Source is one way by which facts reach the hub.
type Source interface {
	// Name is a word for logs, metrics and reports.
	Name() string

	// Facts are what the source knows of the Application; nil when it knows nothing (yet).
	Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error)

	// Changes is a watch for a controller: it enqueues what request makes of each Application of which the
	// source knows something new.
	Changes(request func(app types.NamespacedName) []reconcile.Request) source.Source
}

// Inventory puts together what all sources know. The zero value knows nothing.
type Inventory struct {
	// Sources are in order of richness, the richest first: agent, feedback, search. Search tells of resources, which
	// feedback does not, but cuts messages shorter, is later, and cannot tell which version it saw.
	Sources []Source
}

// Facts are what is known of the Application; nil when no source knows anything.
func (i *Inventory) Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error) {
	var known *observed.Facts
	for _, s := range i.Sources {
		f, err := s.Facts(ctx, app)
		if err != nil {
			return nil, err
		}
		known = observed.Combine(known, f)
	}
	return known, nil
}
