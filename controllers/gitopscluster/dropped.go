package gitopscluster

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/clustersecret"
)

// DefaultGrace is how long a Placement must have passed over a cluster before Argo CD forgets it. Without the Secret, or the
// labels on it, generators take Applications off the cluster, and a binding or a set that is missing for a moment, as in a
// restore, makes the Placement pass over all of its clusters.
const DefaultGrace = time.Minute

// dropped remembers since when clusters have not been chosen any more. After a restart that begins anew.
type dropped struct {
	mu    sync.Mutex
	since map[types.NamespacedName]map[string]time.Time // by GitOpsCluster and cluster
}

// due notes of which clusters a GitOpsCluster has Secrets that it should not have, and of no others. It tells which have been
// so for long enough, and how long it is until the next.
func (d *dropped) due(
	g types.NamespacedName, secrets []*corev1.Secret, grace time.Duration, now time.Time,
) (due map[string]bool, next time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, since := d.since[g], make(map[string]time.Time, len(secrets))
	due = map[string]bool{}
	for _, s := range secrets {
		cluster := clustersecret.Cluster(s)
		since[cluster] = now
		if known, is := before[cluster]; is {
			since[cluster] = known
		}
		if left := grace - now.Sub(since[cluster]); left <= 0 {
			due[cluster] = true
		} else if next == 0 || left < next {
			next = left
		}
	}
	delete(d.since, g)
	if len(since) > 0 {
		if d.since == nil {
			d.since = map[types.NamespacedName]map[string]time.Time{}
		}
		d.since[g] = since
	}
	return due, next
}

// forget begins anew for a GitOpsCluster.
func (d *dropped) forget(g types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, g)
}
