package hub

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/ui"
)

const (
	// patience is how long a page waits for the first list. After that it shows what has come so far, and the rest as it comes.
	patience = 600 * time.Millisecond

	// maxNamespaces is how many namespaces one person looks into at the same time.
	maxNamespaces = 8
)

// Flags are the flags of the hub's Towline that decide what becomes of an Application, as far as the user has set them.
type Flags struct {
	// ArgoCDNamespace is that of the hub's Argo CD; empty for what Towline's Deployment says.
	ArgoCDNamespace string
}

// Person is the hub as one identity may read it. It implements ui.Hub.
type Person struct {
	client client.WithWatch
	flags  Flags

	// user is the name of the identity; empty for that of a kubeconfig.
	user string

	// ctx ends what is followed, end ends it.
	ctx context.Context //nolint:containedctx // the lifetime of what is followed, which no request has
	end context.CancelFunc

	mu           sync.Mutex
	applications map[string]*feed[unique.Handle[application]]
	clusters     *feed[unique.Handle[cluster]]
	version      uint64
	changed      chan struct{}
	used         time.Time

	// fleets are those that were shown last, by namespaces; looking is held by whoever makes one.
	looking sync.Mutex
	fleets  map[string]*ui.Fleet

	orphans orphans
}

// newPerson is one with the identity of a config.
func newPerson(ctx context.Context, config *rest.Config, flags Flags) (*Person, error) {
	c, err := connect(config)
	if err != nil {
		return nil, err
	}
	p := &Person{client: c, flags: flags, applications: map[string]*feed[unique.Handle[application]]{}, changed: make(chan struct{}), version: 1,
		fleets: map[string]*ui.Fleet{}}
	p.ctx, p.end = context.WithCancel(ctx)
	return p, nil
}

// bump tells who waits that something has changed.
func (p *Person) bump() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	close(p.changed)
	p.changed = make(chan struct{})
}

// Changed implements ui.Hub.
func (p *Person) Changed(version uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Now()
	if p.version != version {
		done := make(chan struct{})
		close(done)
		return done
	}
	return p.changed
}

// feeds are those of the namespaces, none for all, started where they were not.
func (p *Person) feeds(namespaces []string) ([]*feed[unique.Handle[application]], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Now()
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var out []*feed[unique.Handle[application]]
	for _, ns := range namespaces {
		if p.applications[ns] == nil {
			if len(p.applications) > maxNamespaces {
				return nil, &ui.Refusal{Code: 429, Message: "You look into too many namespaces at the same time. Wait some minutes."}
			}
			f := &feed[unique.Handle[application]]{
				client: p.client, empty: &argocd.ApplicationList{}, keep: keepApplication, changed: p.bump,
				store: store[unique.Handle[application]]{of: ofApplication},
				opts:  []client.ListOption{client.InNamespace(ns), client.HasLabels{apis.LabelPull}},
			}
			p.applications[ns] = f
			go f.run(p.ctx)
		}
		out = append(out, p.applications[ns])
	}
	if p.clusters == nil {
		p.clusters = &feed[unique.Handle[cluster]]{
			client: p.client, empty: &clusterv1.ManagedClusterList{}, keep: keepCluster, changed: p.bump,
			store: store[unique.Handle[cluster]]{of: ofCluster},
		}
		go p.clusters.run(p.ctx)
	}
	return out, nil
}

// Fleet implements ui.Hub.
func (p *Person) Fleet(ctx context.Context, namespaces []string) (*ui.Fleet, error) {
	feeds, err := p.feeds(namespaces)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		p.mu.Lock()
		version, changed := p.version, p.changed
		p.mu.Unlock()
		if p.filled(feeds) || ctx.Err() != nil {
			return p.look(feeds, namespaces, version)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// filled tells whether all first lists have come to their end.
func (p *Person) filled(feeds []*feed[unique.Handle[application]]) bool {
	reads := func(f *feed[unique.Handle[application]]) bool { return !f.now().filled }
	return !slices.ContainsFunc(feeds, reads) && p.clusters.now().filled
}

// look is what is known now. It is the one that was shown last where nothing has changed since.
func (p *Person) look(feeds []*feed[unique.Handle[application]], namespaces []string, version uint64) (*ui.Fleet, error) {
	p.looking.Lock()
	defer p.looking.Unlock()
	key := strings.Join(namespaces, ",")
	before := p.fleets[key]
	if before == nil {
		if len(p.fleets) > maxNamespaces {
			clear(p.fleets)
		}
		before = &ui.Fleet{}
	}
	if before.Version >= version {
		return before, nil
	}
	f := &ui.Fleet{Version: version}
	for i, feed := range feeds {
		which := "Applications of all namespaces"
		if len(namespaces) > 0 {
			which = "Applications in namespace " + namespaces[i]
		}
		s := feed.now()
		if apierrors.IsUnauthorized(s.err) {
			p.forget()
			return nil, s.err
		}
		s.tell(f, which)
	}
	clusters := p.clusters.now()
	clusters.tell(f, "ManagedClusters")
	f.ManagedUnread = clusters.err != nil || !clusters.filled
	f.Places = places(before.Places, feeds, p.clusters)
	f.Labels = p.clusters.labelKeys(func(h unique.Handle[cluster]) string { return h.Value().labels })
	p.fleets[key] = f
	return f, nil
}

// forget has nobody wait for the end of an identity that is none.
func (p *Person) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Time{}
}

// tell says in a fleet what is not all, or not current, of a kind.
func (s *state) tell(f *ui.Fleet, which string) {
	f.Reading = f.Reading || !s.filled
	switch {
	case apierrors.IsForbidden(s.err):
		f.Unread = append(f.Unread, "You may not list "+which+".")
	case s.err != nil:
		f.Unread = append(f.Unread, "Cannot list "+which+": "+s.err.Error())
	case !s.lost.IsZero():
		f.Outdated = append(f.Outdated, ui.Outdated{What: which, Since: s.lost, Why: s.because.Error()})
	}
}

func sorted(list []string) []string { slices.Sort(list); return list }
