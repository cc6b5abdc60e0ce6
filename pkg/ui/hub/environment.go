package hub

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/ui"
	"github.com/towline-io/towline/pkg/view"
)

const (
	// lease is the name of the Lease renewed by a cluster's registration agent, in the cluster's namespace (Open
	// Cluster Management 1).
	lease = "managed-cluster-lease"

	// addOnLabel is on the ManifestWorks of an add-on, with the add-on's name (Open Cluster Management 1). agent is the
	// name of Towline's add-on.
	addOnLabel, agent = "open-cluster-management.io/addon-name", "towline-agent"

	// maxOrphans is the maximum number of shown orphans.
	maxOrphans = 1000

	// lookAgain is the time for which found orphans are shown without a new search.
	lookAgain = 30 * time.Second
)

// Steps implements ui.Hub.
func (p *Person) Steps(ctx context.Context, key types.NamespacedName) ([]view.Step, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &reader{WithWatch: p.client}
	set, err := r.applicationSet(ctx, key)
	if err != nil || set == nil {
		return nil, err
	}
	out := make([]view.Step, 0, len(set.Status.ApplicationStatus))
	for _, s := range set.Status.ApplicationStatus {
		if s.Step != "" { // without steps, Argo CD leaves the field empty
			out = append(out, view.Step(s))
		}
	}
	return out, nil
}

// Cluster implements ui.Hub.
func (p *Person) Cluster(ctx context.Context, name string) (*ui.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &reader{WithWatch: p.client}
	out := &ui.Cluster{}
	l, err := reading.Get(ctx, r, types.NamespacedName{Namespace: name, Name: lease}, &coordinationv1.Lease{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if l != nil && l.Spec.RenewTime != nil {
		out.Heard = &l.Spec.RenewTime.Time
	}
	works := &workv1.ManifestWorkList{}
	err = r.List(ctx, works, client.InNamespace(name), client.MatchingLabels{addOnLabel: agent})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range works.Items {
		if v := reading.ImageVersion(&works.Items[i], ""); v != "" {
			out.Agent = v
		}
	}
	out.Unread = r.unread.Lines()
	return out, nil
}

// orphans are the orphans of the last search.
type orphans struct {
	mu    sync.Mutex
	found []ui.Orphan
	err   error
	at    time.Time
}

// Orphans implements ui.Hub. A search reads all works, so the search is repeated only after lookAgain.
func (p *Person) Orphans(ctx context.Context) ([]ui.Orphan, error) {
	p.orphans.mu.Lock()
	defer p.orphans.mu.Unlock()
	if time.Since(p.orphans.at) > lookAgain {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		p.orphans.found, p.orphans.err = p.findOrphans(ctx)
		p.orphans.at = time.Now()
	}
	return p.orphans.found, p.orphans.err
}

// findOrphans reads the metadata of all works.
func (p *Person) findOrphans(ctx context.Context) ([]ui.Orphan, error) {
	var out []ui.Orphan
	for next := ""; ; {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(schema.GroupVersion(workv1.GroupVersion).WithKind("ManifestWorkList"))
		if err := p.client.List(ctx, page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		for i := range page.Items {
			a := page.Items[i].Annotations
			if a[apis.AnnotationOrphanedAt] != "" && len(out) < maxOrphans {
				out = append(out, ui.Orphan{
					Cluster: page.Items[i].Namespace, Work: page.Items[i].Name, Since: a[apis.AnnotationOrphanedAt], Decided: a[apis.AnnotationOrphaned],
					Application: a[apis.AnnotationHubNamespace] + "/" + a[apis.AnnotationHubName],
				})
			}
		}
		if next = page.GetContinue(); next == "" {
			return out, nil
		}
	}
}
