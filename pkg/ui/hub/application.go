package hub

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/ui"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
	"github.com/towline-io/towline/pkg/work"
)

// maxEvents is the maximum number of shown events.
const maxEvents = 50

// timeout is the time limit for the reads of one page.
const timeout = 20 * time.Second

// Application implements ui.Hub.
func (p *Person) Application(ctx context.Context, key types.NamespacedName) (*ui.Application, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &reader{WithWatch: p.client}
	app, err := reading.Get(ctx, r, key, &argocd.Application{})
	if err != nil || app == nil {
		return nil, err
	}
	out := &ui.Application{App: app}
	facts, err := r.facts(ctx, app, p.flags)
	if err != nil {
		return nil, err
	}
	out.Diagnosis = why.Of(facts)
	if out.Tree, err = r.tree(ctx, app); err != nil {
		return nil, err
	}
	out.Events, err = r.events(ctx, app)
	if out.EventsUnread = apierrors.IsForbidden(err); err != nil && !out.EventsUnread {
		return nil, err
	}
	return out, nil
}

// tree reads the tree of an Application, including the agent's report if present.
func (r *reader) tree(ctx context.Context, app *argocd.Application) (*view.Node, error) {
	f := &view.TreeFacts{App: app}
	if app.Cluster() == "" {
		return view.TreeOf(f), nil
	}
	var err error
	f.Work, err = reading.Get(ctx, r, work.Key(app), &workv1.ManifestWork{})
	if f.WorkUnread = apierrors.IsForbidden(err); err != nil && !f.WorkUnread {
		return nil, err
	}
	f.Report, err = reading.Get(ctx, r, work.Key(app), &v1alpha1.ApplicationReport{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return view.TreeOf(f), nil
}

// events returns the events about an Application, the newest first.
func (r *reader) events(ctx context.Context, app *argocd.Application) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	err := r.List(ctx, list, client.InNamespace(app.Namespace), client.Limit(500), client.MatchingFields{
		"involvedObject.kind": argocd.Kind, "involvedObject.name": app.Name,
	})
	events := list.Items
	for i := range events { // events of the newer API have a separate time
		if e := &events[i]; e.LastTimestamp.IsZero() {
			e.LastTimestamp.Time = e.EventTime.Time
			if e.Series != nil {
				e.LastTimestamp.Time = e.Series.LastObservedTime.Time
			}
		}
	}
	slices.SortFunc(events, func(a, b corev1.Event) int { return b.LastTimestamp.Compare(a.LastTimestamp.Time) })
	return events[:min(len(events), maxEvents)], err
}
