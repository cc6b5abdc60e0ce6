package agent

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/tree"
)

const (
	// treeInterval is the delay between Argo CD's announcement of a changed tree and the read of the tree. The read
	// includes later changes: Argo CD announces each change of each live resource.
	treeInterval = 5 * time.Second

	// redisPause is how long Redis gets no requests after a failure.
	redisPause = 15 * time.Second

	// olderHub is how long reports have no tree, after a hub without the field tree has refused a report.
	olderHub = 10 * time.Minute

	// maxShards is the maximum number of entries read for a tree. Each entry has a hundred live resources.
	maxShards = 20
)

// Trees reads the live resources that the cluster's Argo CD keeps in its Redis. A nil Trees knows no live resources.
type Trees struct {
	// Redis is the Redis of the cluster's Argo CD.
	Redis *argocache.Redis

	// Home is the namespace of the cluster's Argo CD.
	Home string

	mu     sync.Mutex
	until  time.Time // no reads before this time
	failed bool      // the last read failed, and the failure is logged
}

// of returns the live resources of an Application, or nil if unknown. Each report reads the tree from Redis, and the
// agent keeps no tree in memory.
func (t *Trees) of(ctx context.Context, app types.NamespacedName) []v1alpha1.TreeNode {
	if t == nil || t.paused() {
		return nil
	}
	nodes, err := t.read(ctx, app)
	if ctx.Err() == nil {
		t.note(ctx, err)
	}
	return nodes
}

// read reads a tree. A missing part means that Argo CD is writing the tree. Argo CD then announces the change, and the
// agent reads the tree again.
func (t *Trees) read(ctx context.Context, app types.NamespacedName) ([]v1alpha1.TreeNode, error) {
	plain, err := t.Redis.Plain(ctx)
	if err != nil {
		return nil, err
	}
	var all []v1alpha1.TreeNode
	key, shards := tree.Key(app, t.Home, !plain), 1
	for i := 0; i < shards; i++ {
		if i > 0 {
			key = tree.ShardKey(app, t.Home, !plain, i)
		}
		entry, err := t.Redis.Get(ctx, key)
		if entry == nil || err != nil {
			return all, err
		}
		nodes, of, err := tree.Decode(entry, !plain)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("The tree in Argo CD's cache cannot be read", "because", err.Error())
			return all, nil
		}
		if all = append(all, nodes...); i == 0 {
			shards = min(of, maxShards)
		}
	}
	return all, nil
}

func (t *Trees) paused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.until)
}

// note logs the start and the end of a failure of Redis, and pauses requests to Redis after a failure.
func (t *Trees) note(ctx context.Context, err error) {
	t.mu.Lock()
	was := t.failed
	if t.failed = err != nil; t.failed {
		t.until = time.Now().Add(redisPause)
	}
	t.mu.Unlock()
	switch {
	case err != nil && !was:
		ctrl.LoggerFrom(ctx).Error(err, "The Redis of the cluster's Argo CD cannot be read: reports go to the hub without live resources. "+
			"Where a connection times out, a NetworkPolicy may block the agent: see docs/agent.md")
	case err == nil && was:
		ctrl.LoggerFrom(ctx).Info("The Redis of the cluster's Argo CD answers again")
	}
}

// refused returns true if the hub refused a report because its schema has no tree. The next reports have no tree.
func (t *Trees) refused(ctx context.Context, report *v1alpha1.ApplicationReport, err error) bool {
	if t == nil || err == nil || len(report.Tree) == 0 || !strings.Contains(err.Error(), "field not declared in schema") {
		return false
	}
	ctrl.LoggerFrom(ctx).Info("The hub does not know of live resources: upgrade Towline there. Reports go without them", "for", olderHub.String())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(olderHub)
	return true
}

// changes returns a source of requests for the Applications with changed trees, from Argo CD's announcements. At the
// start of listening, the source requests all Applications, because earlier announcements are lost.
func (t *Trees) changes(cluster client.Reader) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for ctx.Err() == nil {
				err := t.Redis.Listen(ctx, tree.Channels, func() { t.askAll(ctx, cluster, q) }, func(channel string) {
					q.AddAfter(reconcile.Request{NamespacedName: tree.OfChannel(channel, t.Home)}, treeInterval)
				})
				if ctx.Err() == nil {
					t.note(ctx, err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(redisPause):
				}
			}
		}()
		return nil
	})
}

// askAll enqueues all Applications.
func (t *Trees) askAll(ctx context.Context, cluster client.Reader, q queue) {
	apps := &argocd.ApplicationList{}
	if err := cluster.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "The Applications cannot be listed")
	}
	for i := range apps.Items {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
	}
}
