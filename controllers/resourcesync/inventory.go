package resourcesync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/observed"
)

// Source is a way by which facts reach the hub.
type Source interface {
	// Name is a word for logs, metrics and reports.
	Name() string

	// Facts returns the source's facts about the Application, or nil if the source has no facts (yet).
	Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error)

	// Changes returns a watch for a controller. The watch enqueues the requests of request for each Application with
	// new facts.
	Changes(request func(app types.NamespacedName) []reconcile.Request) source.Source
}

// Inventory combines the facts of all sources. The zero value has no facts.
type Inventory struct {
	// Sources are in order of richness, the richest first: agent, feedback, search. Search knows resources, unlike
	// feedback. However, search cuts messages shorter, is later, and cannot tell the observed version.
	Sources []Source
}

// Facts returns the known facts about the Application, or nil if no source has facts. Addresses of repositories in the
// facts are the addresses of the hub's Application, also for a cluster that reads through the hub.
func (i *Inventory) Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error) {
	var known *observed.Facts
	for _, s := range i.Sources {
		f, err := s.Facts(ctx, app)
		if err != nil {
			return nil, err
		}
		known = observed.Combine(known, f)
	}
	return known.InWordsOf(app), nil
}
