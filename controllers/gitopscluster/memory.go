package gitopscluster

import (
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// remember notes the kept Secrets of a GitOpsCluster, and the users of each Secret. Earlier notes are dropped.
func (r *Reconciler) remember(key types.NamespacedName, kept []clusterimport.KeptSecret) {
	clusters := make([]string, len(kept))
	users := map[types.NamespacedName]*clusterimport.User{}
	for i := range kept {
		clusters[i] = clustersecret.Cluster(kept[i].Secret)
		users[client.ObjectKeyFromObject(kept[i].Secret)] = &kept[i].User
	}
	r.waiting.set(key, clusters)
	r.pushers.set(key, users)
}

// forget drops the memory of a deleted GitOpsCluster.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.remember(key, nil)
	r.dropped.note(key, nil, time.Time{})
	r.stood.note(key, "")
	forget(key)
}

// stood remembers the GitOpsClusters that Towline leaves to a different controller, and the reason. A CRD without
// conditions cannot store the reason.
type stood struct {
	mu  sync.Mutex
	why map[types.NamespacedName]string
}

// note notes the reason; an empty reason removes the note.
func (s *stood) note(g types.NamespacedName, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == "" {
		delete(s.why, g)
		return
	}
	if s.why == nil {
		s.why = map[types.NamespacedName]string{}
	}
	s.why[g] = reason
}

// of returns the noted reason.
func (s *stood) of(g types.NamespacedName) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why[g]
}

// forget drops all notes.
func (s *stood) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = nil
}

// dropped remembers since when clusters have not been chosen any more. After a restart, the times begin again.
type dropped struct {
	mu    sync.Mutex
	since map[types.NamespacedName]map[string]time.Time // by GitOpsCluster and cluster
}

// note returns since when each of the given clusters has not been chosen: now, for a cluster without a note. Notes of
// clusters not given are dropped.
func (d *dropped) note(g types.NamespacedName, clusters []string, now time.Time) map[string]time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, since := d.since[g], make(map[string]time.Time, len(clusters))
	for _, cluster := range clusters {
		since[cluster] = now
		if known, is := before[cluster]; is {
			since[cluster] = known
		}
	}
	delete(d.since, g)
	if len(since) > 0 {
		if d.since == nil {
			d.since = map[types.NamespacedName]map[string]time.Time{}
		}
		d.since[g] = since
	}
	return since
}

// waiting remembers the GitOpsClusters that wait until the Applications of a cluster are gone. After a restart, every
// GitOpsCluster is reconciled anyway.
type waiting struct {
	mu  sync.Mutex
	all map[string][]types.NamespacedName
}

// set notes the clusters for which a GitOpsCluster waits, and drops its earlier notes.
func (w *waiting) set(g types.NamespacedName, clusters []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cluster, all := range w.all {
		if all = slices.DeleteFunc(all, func(other types.NamespacedName) bool { return other == g }); len(all) == 0 {
			delete(w.all, cluster)
		} else {
			w.all[cluster] = all
		}
	}
	w.note(g, clusters)
}

// add adds clusters for which a GitOpsCluster waits.
func (w *waiting) add(g types.NamespacedName, clusters []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(g, clusters)
}

func (w *waiting) note(g types.NamespacedName, clusters []string) {
	if w.all == nil {
		w.all = map[string][]types.NamespacedName{}
	}
	for _, cluster := range clusters {
		if !slices.Contains(w.all[cluster], g) {
			w.all[cluster] = append(w.all[cluster], g)
		}
	}
}

// of returns the GitOpsClusters that wait for a cluster.
func (w *waiting) of(cluster string) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all[cluster])
}

// pushers remembers, by GitOpsCluster and Secret, the pushed Application for which the Secret is kept.
type pushers struct {
	mu  sync.Mutex
	all map[types.NamespacedName]map[types.NamespacedName]types.NamespacedName
}

// set notes the users of Secrets, and drops earlier notes of the GitOpsCluster.
func (p *pushers) set(g types.NamespacedName, users map[types.NamespacedName]*clusterimport.User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := map[types.NamespacedName]types.NamespacedName{}
	for secret, user := range users {
		if user != nil && user.Pushed {
			now[secret] = user.Application
		}
	}
	delete(p.all, g)
	if len(now) > 0 {
		if p.all == nil {
			p.all = map[types.NamespacedName]map[types.NamespacedName]types.NamespacedName{}
		}
		p.all[g] = now
	}
}

// last returns the Application for which a Secret was last kept.
func (p *pushers) last(g, secret types.NamespacedName) (types.NamespacedName, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	app, known := p.all[g][secret]
	return app, known
}

// older remembers the last read of the older controller's Lease.
type older struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
	at    time.Time
}

// set notes the Lease and the time of the read; nil for no Lease.
func (o *older) set(lease *coordinationv1.Lease, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lease, o.at = lease, at
}

// last returns the noted Lease and time.
func (o *older) last() (*coordinationv1.Lease, time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lease, o.at
}
