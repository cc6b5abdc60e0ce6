package browser

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/ui"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// hub is a hub in memory, with a fleet that a test changes.
type hub struct {
	mu      sync.Mutex
	apps    []*argocd.Application
	version uint64
	changed chan struct{}

	// outdated is set while the API server is unreachable, and down while the page itself is unavailable.
	outdated []ui.Outdated
	down     atomic.Bool

	// drop closes all connections of the page.
	drop func()
}

func newHub(apps ...*argocd.Application) *hub { return &hub{apps: apps, changed: make(chan struct{})} }

// set replaces an Application.
func (h *hub) set(i int, app *argocd.Application) { h.change(func() { h.apps[i] = app }) }

// change changes the fleet.
func (h *hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	h.version++
	close(h.changed)
	h.changed = make(chan struct{})
}

// For implements ui.Source.
func (h *hub) For(*http.Request) (ui.Hub, error) {
	if h.down.Load() {
		return nil, errors.New("the hub cannot be reached")
	}
	return h, nil
}

// Fleet implements ui.Hub.
func (h *hub) Fleet(context.Context, []string) (*ui.Fleet, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &ui.Fleet{Version: h.version, ManagedUnread: true, Outdated: h.outdated}
	for _, a := range h.apps {
		f.Places = append(f.Places, &place{a.Cluster(), view.OfApplication(a)})
	}
	return f, nil
}

// place is a cluster with one Application.
type place struct {
	cluster string
	row     view.Row
}

// Cluster implements ui.Place.
func (p *place) Cluster() string { return p.cluster }

// Read implements ui.Place.
func (p *place) Read() ui.Content { return ui.Content{Rows: []view.Row{p.row}} }

// Changed implements ui.Hub.
func (h *hub) Changed(version uint64) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if version == h.version {
		return h.changed
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Application implements ui.Hub.
func (h *hub) Application(_ context.Context, key types.NamespacedName) (*ui.Application, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.apps {
		if a.Name == key.Name {
			diagnosis := why.Of(&why.Facts{App: a, WorkUnread: true})
			return &ui.Application{App: a, Diagnosis: diagnosis, Tree: view.TreeOf(&view.TreeFacts{App: a, WorkUnread: true})}, nil
		}
	}
	return nil, nil //nolint:nilnil // as ui.Hub has it
}

// Steps implements ui.Hub.
func (h *hub) Steps(context.Context, types.NamespacedName) ([]view.Step, error) { return nil, nil }

// Cluster implements ui.Hub.
func (h *hub) Cluster(context.Context, string) (*ui.Cluster, error) { return &ui.Cluster{}, nil }

// Orphans implements ui.Hub.
func (h *hub) Orphans(context.Context) ([]ui.Orphan, error) { return nil, nil }

// app returns an Application of the ApplicationSet guestbook on a cluster.
func app(cluster, health, message string) *argocd.Application {
	controller := true
	a := &argocd.Application{}
	a.Namespace, a.Name = "argocd", cluster+"-guestbook"
	a.Labels, a.Annotations = map[string]string{apis.LabelPull: "true"}, map[string]string{apis.AnnotationCluster: cluster}
	a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", Controller: &controller}}
	a.Status.Sync = &argocd.Sync{Status: "Synced", Revision: "abc"}
	a.Status.Health = argocd.Health{Status: health, Message: message}
	return a
}
