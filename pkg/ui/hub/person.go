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
	// patience is how long a page waits for the first list. Afterwards the page shows the objects read so far, and adds
	// later objects.
	patience = 600 * time.Millisecond

	// maxNamespaces limits the namespaces that one person follows at the same time.
	maxNamespaces = 8
)

// Flags are the flags of the hub's Towline that affect decisions about an Application, as far as the user has set the
// flags.
type Flags struct {
	// ArgoCDNamespace is the namespace of the hub's Argo CD; empty for the namespace in Towline's Deployment.
	ArgoCDNamespace string
}

// Person is the hub with the rights of one identity. Person implements ui.Hub.
type Person struct {
	client client.WithWatch
	flags  Flags

	// owner is the owner of the identity's place; empty for the identity of a kubeconfig.
	owner string

	// ctx is the lifetime of the feeds, and end ends the feeds.
	ctx context.Context //nolint:containedctx // the lifetime of what is followed, which no request has
	end context.CancelFunc

	mu           sync.Mutex
	applications map[string]*feed[unique.Handle[application]]
	clusters     *feed[unique.Handle[cluster]]
	version      uint64
	changed      chan struct{}
	used         time.Time

	// fleets are the last shown fleets, by namespaces. looking guards fleets.
	looking sync.Mutex
	fleets  map[string]*ui.Fleet

	orphans orphans
}

// newPerson returns a Person with the identity of a config.
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

// bump wakes the waiting readers after a change.
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

// feeds returns the feeds of the namespaces, or of all namespaces if none is given, and starts missing feeds.
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

// filled returns whether all first lists have ended.
func (p *Person) filled(feeds []*feed[unique.Handle[application]]) bool {
	reads := func(f *feed[unique.Handle[application]]) bool { return !f.now().filled }
	return !slices.ContainsFunc(feeds, reads) && p.clusters.now().filled
}

// look returns the known fleet. Without a change, look returns the last shown fleet.
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

// forget marks an invalid identity for removal at the next check.
func (p *Person) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = time.Time{}
}

// tell adds messages to a fleet about a kind with missing or outdated content.
func (s *state) tell(f *ui.Fleet, which string) {
	f.Reading = f.Reading || !s.filled
	switch {
	case apierrors.IsForbidden(s.err):
		f.Unread = append(f.Unread, "You may not list "+which+".")
	case s.err != nil:
		f.Unread = append(f.Unread, "Cannot list "+which+": "+s.err.Error())
	case !s.lost.IsZero():
		f.Outdated = append(f.Outdated, ui.Outdated{What: which, Since: s.lost, Why: s.cause.Error()})
	}
}

func sorted(list []string) []string { slices.Sort(list); return list }
