package ui

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// fake is a hub in memory.
type fake struct {
	mu      sync.Mutex
	apps    []*argocd.Application
	managed []clusterv1.ManagedCluster
	unread  []string
	steps   []view.Step
	orphans []Orphan
	agent   string

	// outdated is set while the API server is unavailable. reads counts the reads of objects outside the fleet.
	outdated []Outdated
	reads    int

	changed chan struct{}
	version uint64

	// places are the places of the last fleet.
	places map[string]*place
}

// For implements Source.
func (f *fake) For(*http.Request) (Hub, error) { return f, nil }

// Fleet implements Hub.
func (f *fake) Fleet(_ context.Context, namespaces []string) (*Fleet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &Fleet{Version: f.version, Unread: f.unread, Outdated: f.outdated}
	places := map[string]*place{}
	of := func(cluster string) *Content {
		if places[cluster] == nil {
			places[cluster] = &place{cluster: cluster, content: Content{Deleting: map[string]time.Time{}}}
		}
		return &places[cluster].content
	}
	for _, a := range f.apps {
		if len(namespaces) > 0 && a.Namespace != namespaces[0] {
			continue
		}
		c := of(a.Cluster())
		c.Rows = append(c.Rows, view.OfApplication(a))
		if a.DeletionTimestamp != nil {
			c.Deleting[a.Namespace+"/"+a.Name] = a.DeletionTimestamp.Time
		}
	}
	labels := map[string]bool{}
	for i := range f.managed {
		of(f.managed[i].Name).Managed = f.managed[i].DeepCopy()
		for key := range f.managed[i].Labels {
			labels[key] = true
		}
	}
	out.Labels = slices.Sorted(maps.Keys(labels))
	for _, cluster := range slices.Sorted(maps.Keys(places)) {
		p := places[cluster]
		view.Sort(p.content.Rows)
		if was := f.places[cluster]; was != nil && gocmp.Equal(was.content, p.content) {
			p = was
		}
		places[cluster] = p
		out.Places = append(out.Places, p)
	}
	f.places = places
	return out, nil
}

// place is a place of a fake, and counts its reads.
type place struct {
	cluster string
	content Content
	reads   atomic.Int32
}

// Cluster implements Place.
func (p *place) Cluster() string { return p.cluster }

// Read implements Place.
func (p *place) Read() Content {
	p.reads.Add(1)
	c := p.content
	c.Rows = slices.Clone(c.Rows)
	return c
}

// Changed implements Hub.
func (f *fake) Changed(version uint64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	if version != f.version {
		done := make(chan struct{})
		close(done)
		return done
	}
	return f.changed
}

// change changes the fleet.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	f.version++
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// Application implements Hub.
func (f *fake) Application(_ context.Context, key types.NamespacedName) (*Application, error) {
	if err := f.read(); err != nil {
		return nil, err
	}
	for _, a := range f.apps {
		if a.Namespace == key.Namespace && a.Name == key.Name {
			return &Application{App: a, Diagnosis: why.Of(&why.Facts{App: a, WorkUnread: true}), Tree: view.TreeOf(&view.TreeFacts{App: a, WorkUnread: true}),
				Events: []corev1.Event{{Reason: "Sent", Type: "Normal", Message: a.Status.Health.Message, LastTimestamp: metav1.Unix(1e9, 0)}}}, nil
		}
	}
	return nil, nil //nolint:nilnil // as Hub has it
}

// Steps implements Hub.
func (f *fake) Steps(context.Context, types.NamespacedName) ([]view.Step, error) {
	return f.steps, f.read()
}

// Cluster implements Hub.
func (f *fake) Cluster(context.Context, string) (*Cluster, error) {
	return &Cluster{Agent: cmp.Or(f.agent, "v1.2.3")}, f.read()
}

// Orphans implements Hub.
func (f *fake) Orphans(context.Context) ([]Orphan, error) { return f.orphans, f.read() }

// read simulates a read from the API server.
func (f *fake) read() error {
	f.reads++
	if len(f.outdated) > 0 {
		return errors.New("connection refused")
	}
	return nil
}

// app returns an Application of an ApplicationSet on a cluster.
func app(namespace, set, cluster, health string) *argocd.Application {
	controller := true
	a := &argocd.Application{}
	a.Namespace, a.Name = namespace, cluster+"-"+set
	a.Labels = map[string]string{apis.LabelPull: "true"}
	a.Annotations = map[string]string{apis.AnnotationCluster: cluster}
	a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set, Controller: &controller}}
	a.Status.Sync = &argocd.Sync{Status: "Synced", Revision: "0123456789012345678901234567890123456789"}
	a.Status.Health.Status = health
	a.Status.ReconciledAt = "2026-01-02T03:04:05Z"
	return a
}

func managed(name, region string) clusterv1.ManagedCluster {
	m := clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"region": region}}}
	m.Spec.HubAcceptsClient = true
	m.Status.Version.Kubernetes = "v1.35.1"
	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue}}
	return m
}
