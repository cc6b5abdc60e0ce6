package gitopscluster

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// page is how many Applications are asked for at a time.
const page = 500

// pushedAgain is when to look again where Applications are pushed to a cluster, which are not watched.
const pushedAgain = time.Minute

// notPulled selects the Applications that are not for pull; the cache has none of them. The values are what
// strconv.ParseBool takes for true.
var notPulled = func() labels.Selector {
	s, err := labels.Parse(apis.LabelPull + " notin (1,t,T,true,TRUE,True)")
	if err != nil {
		panic(err) // it is a constant
	}
	return s
}()

// pushed are the Applications that an Argo CD of the hub deploys itself, by the name and by the address of their clusters.
// Of several for one cluster it has one.
type pushed map[string]types.NamespacedName

// users tells which Application uses a cluster's Secret: one for pull, which names the ManagedCluster, or one that is
// pushed there.
type users struct {
	r *Reconciler

	// pushed is read when the first Secret is about to go.
	pushed pushed

	// last are the Applications that Secrets were kept for before, of those that are pushed, and now those that they are
	// kept for, by the names of the Secrets.
	last, now map[string]types.NamespacedName
}

// pushers remembers the pushed Applications that Secrets are kept for, of the GitOpsClusters that would remove these.
type pushers struct {
	mu   sync.Mutex
	last map[pusherKey]map[string]types.NamespacedName
}

// pusherKey is a GitOpsCluster, and a namespace of Secrets.
type pusherKey struct {
	owner     types.NamespacedName
	namespace string
}

func (p *pushers) get(key pusherKey) map[string]types.NamespacedName {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[key]
}

// set notes which Secrets are kept, and for whom. No others are.
func (p *pushers) set(key pusherKey, now map[string]types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(now) == 0 {
		delete(p.last, key)
		return
	}
	if p.last == nil {
		p.last = map[pusherKey]map[string]types.NamespacedName{}
	}
	p.last[key] = now
}

// forget notes that a GitOpsCluster is gone.
func (p *pushers) forget(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.last, func(key pusherKey, _ map[string]types.NamespacedName) bool { return key.owner == owner })
}

// of is an Application that uses the Secret, and whether it is pushed; nil for none.
func (u *users) of(ctx context.Context, s *corev1.Secret) (app *types.NamespacedName, isPushed bool, err error) {
	if apps := index.ApplicationsOfCluster(ctx, u.r, clustersecret.Cluster(s)); len(apps) > 0 {
		return &apps[0], false, nil
	}
	names := []string{"name " + clustersecret.NameOf(s), "server " + clustersecret.ServerOf(s)}
	if app, err = u.stillPushed(ctx, s, names); app != nil || err != nil {
		return app, true, err
	}
	if u.pushed == nil {
		if u.pushed, err = u.r.readPushed(ctx); err != nil {
			return nil, false, err
		}
	}
	for _, by := range names {
		if key, ok := u.pushed[by]; ok {
			u.now[s.Name] = key
			return &key, true, nil
		}
	}
	return nil, false, nil
}

// stillPushed is the Application that the Secret was kept for last, if that goes on: to ask for one costs the hub much less
// than to ask for all.
func (u *users) stillPushed(ctx context.Context, s *corev1.Secret, names []string) (*types.NamespacedName, error) {
	key, ok := u.last[s.Name]
	if !ok {
		return nil, nil
	}
	app := &argocd.Application{}
	if err := u.r.Live.Get(ctx, key, app); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !slices.Contains(names, destinationOf(app)) {
		return nil, nil
	}
	u.now[s.Name] = key
	return &key, nil
}

// readPushed asks the API server for what the cache does not have: most hubs have none, and what is removed is removed
// rarely.
func (r *Reconciler) readPushed(ctx context.Context) (pushed, error) {
	out, cached := pushed{}, &argocd.ApplicationList{}
	if err := r.List(ctx, cached, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	out.add(cached.Items)
	for token := ""; ; {
		list := &argocd.ApplicationList{} // what is read into one that has been used would mix with what it has
		err := r.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: notPulled}, client.Limit(page), client.Continue(token))
		if err != nil {
			return nil, err
		}
		out.add(list.Items)
		if token = list.Continue; token == "" {
			return out, nil
		}
	}
}

func (p pushed) add(apps []argocd.Application) {
	for i := range apps {
		if by := destinationOf(&apps[i]); by != "" {
			p[by] = client.ObjectKeyFromObject(&apps[i])
		}
	}
}

// destinationOf is how an Application that an Argo CD of the hub deploys names its cluster; empty where that is the one
// that its Argo CD runs on, which takes no Secret, or cannot be read. One for pull may be deployed by both: the annotation
// that keeps the hub's Argo CD away may be missing.
func destinationOf(app *argocd.Application) string {
	if app.Pulled() && app.ReconcileSkipped() {
		return ""
	}
	var spec struct {
		Destination struct{ Name, Server string } `json:"destination"`
	}
	if json.Unmarshal(app.Spec.Raw, &spec) != nil {
		return ""
	}
	name, server := spec.Destination.Name, strings.TrimRight(spec.Destination.Server, "/")
	switch {
	case cmp.Or(server, name) == "" || server == apis.InClusterServer:
		return ""
	case server != "":
		return "server " + server
	}
	return "name " + name
}
