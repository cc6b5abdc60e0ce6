package managed

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
)

const (
	// sweepInterval is the time between two looks at all entries. A look finds entries that lost the grant while no
	// replica of towline-source was running, and the sizes of the entries from other replicas.
	sweepInterval = 5 * time.Minute

	// firstRetry and lastRetry limit the time until the next attempt after a failure of Redis.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// queue has the Applications to judge. The zero name stands for all Applications.
type queue = workqueue.TypedRateLimitingInterface[types.NamespacedName]

var all types.NamespacedName

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry))
}

// Judge removes the entry of an Application soon, if the Application has no grant.
func (e *Entries) Judge(app types.NamespacedName) { e.queue.Add(app) }

// JudgeAll is Judge for all Applications.
func (e *Entries) JudgeAll() { e.queue.Add(all) }

// Run removes the entries of Applications that lost their grant, until ctx ends. synced reports whether the grants are
// known.
func (e *Entries) Run(ctx context.Context, synced func(context.Context) bool) error {
	defer context.AfterFunc(ctx, e.queue.ShutDown)()
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) { return synced(ctx), nil })
	if err != nil {
		return nil // ctx has ended
	}
	e.JudgeAll()
	for {
		app, ended := e.queue.Get()
		if ended {
			return nil
		}
		err := e.look(ctx, app)
		switch {
		case err != nil && ctx.Err() == nil:
			if e.queue.NumRequeues(app) == 0 {
				e.Log.Info("Managed resources without a grant cannot be removed from Argo CD's Redis", "error", err.Error())
			}
			e.queue.AddRateLimited(app)
		default:
			e.queue.Forget(app)
		}
		e.queue.Done(app)
	}
}

// look judges an Application, or all Applications.
func (e *Entries) look(ctx context.Context, app types.NamespacedName) error {
	if app != all {
		return e.judge(ctx, app)
	}
	defer e.queue.AddAfter(all, wait.Jitter(sweepInterval, 0.2))
	known := map[string]map[types.NamespacedName]int64{}
	err := e.Redis.EachKey(ctx, marks, func(key string) error {
		namespace, name, _ := strings.Cut(strings.TrimPrefix(key, markBegins), "/")
		app := types.NamespacedName{Namespace: namespace, Name: name}
		if err := e.judge(ctx, app); err != nil {
			return err
		}
		m, err := e.mark(ctx, app)
		if m == nil || err != nil {
			return err
		}
		if known[m.Cluster] == nil {
			known[m.Cluster] = map[types.NamespacedName]int64{}
		}
		known[m.Cluster][app] = m.Bytes
		return nil
	})
	if err == nil {
		e.sizes.replace(known)
	}
	return err
}
