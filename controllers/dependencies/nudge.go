package dependencies

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// What Argo CD says of an Application whose dependencies have not come yet.
const (
	// invalidSpec: it and its project do not go together.
	invalidSpec = "InvalidSpecError"

	// noComparison: its sources cannot be read, for want of a credential perhaps.
	noComparison = "ComparisonError"
)

// settled is how long to wait before a refresh is asked for. Several dependencies may come at once; and the cluster says
// by the second when it compared last, so that a refresh in the same second would seem to go unanswered.
const settled = 1200 * time.Millisecond

// nudge asks for a refresh of an Application that its cluster's Argo CD could make nothing of, once its project and its
// credentials are there as they are now: Argo CD (v2.14) does not look at an Application again when these come or
// change, but minutes later. It returns when to look again; zero for never.
func (r *Reconciler) nudge(ctx context.Context, app *argocd.Application) (time.Duration, error) {
	if app.Refresh() != "" {
		return 0, nil
	}
	there, err := r.there(ctx, app)
	if err != nil || there == "" {
		return 0, err
	}
	now, after := r.nudged.next(dependency.ObjectsKey(work.Key(app)), there, time.Now())
	if !now {
		return after, nil
	}
	_, err = hubapp.Write(ctx, r.Client, app, &argocd.Patch{
		Annotations: map[string]*string{apis.AnnotationRefresh: ptr.To("normal")}, Exact: true,
	})
	return 0, client.IgnoreNotFound(err)
}

// there names the states of those dependencies that its cluster has and that the Application was in want of; empty when
// there are none.
func (r *Reconciler) there(ctx context.Context, app *argocd.Application) (string, error) {
	wanted := map[dependency.Kind]bool{}
	for _, c := range app.Status.Conditions {
		wanted[dependency.Project] = wanted[dependency.Project] || c.Type == invalidSpec
		wanted[dependency.Credential] = wanted[dependency.Credential] || c.Type == noComparison
	}
	if len(wanted) == 0 {
		return "", nil
	}
	keys, err := r.dependenciesOf(ctx, app)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, key := range keys {
		if kind, _ := dependency.KindOf(key.Name); !wanted[kind] {
			continue
		}
		w, err := r.work(ctx, key)
		if err != nil {
			return "", err
		}
		if w != nil && applied(w) {
			fmt.Fprintf(&out, "%s/%d ", w.UID, w.Generation)
		}
	}
	return out.String(), nil
}

// nudged remembers with which dependencies an Application was nudged last, so that one which stays as it is is not nudged
// again. Forgotten at a restart, it costs one refresh of each of those. It goes by the Application's objects work.
type nudged struct {
	mu   sync.Mutex
	last map[types.NamespacedName]nudge
}

// watched forgets the Applications that go. It lets everything through.
func (n *nudged) watched() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		if app, ok := e.Object.(*argocd.Application); ok {
			n.forget(dependency.ObjectsKey(work.Key(app)))
		}
		return true
	}}
}

type nudge struct {
	with string
	due  time.Time
	done bool
}

// next tells whether it is time to nudge the Application of that objects work, which has these dependencies, and if not when it
// will be; zero for never.
func (n *nudged) next(app types.NamespacedName, with string, now time.Time) (bool, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.last[app]
	if last.with != with {
		last = nudge{with: with, due: now.Add(settled)}
	}
	left := max(0, last.due.Sub(now))
	if last.done {
		return false, 0
	}
	last.done = left == 0
	if n.last == nil {
		n.last = map[types.NamespacedName]nudge{}
	}
	n.last[app] = last
	return last.done, left
}

func (n *nudged) forget(app types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.last, app)
}
