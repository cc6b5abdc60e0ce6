package gitopscluster

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
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
}

// of is an Application that uses the Secret, and whether it is pushed; nil for none.
func (u *users) of(ctx context.Context, s *corev1.Secret) (app *types.NamespacedName, isPushed bool, err error) {
	if apps := index.ApplicationsOfCluster(ctx, u.r, clustersecret.Cluster(s)); len(apps) > 0 {
		return &apps[0], false, nil
	}
	names := []string{"name " + clustersecret.NameOf(s), "server " + clustersecret.ServerOf(s)}
	if app, err = u.r.stillPushed(ctx, s, names); app != nil || err != nil {
		return app, true, err
	}
	if u.pushed == nil {
		if u.pushed, err = u.r.readPushed(ctx); err != nil {
			return nil, false, err
		}
	}
	for _, by := range names {
		if key, ok := u.pushed[by]; ok {
			u.r.pushers.Store(client.ObjectKeyFromObject(s), key)
			return &key, true, nil
		}
	}
	u.r.pushers.Delete(client.ObjectKeyFromObject(s))
	return nil, false, nil
}

// stillPushed is the Application that the Secret was kept for last, if that goes on: to ask for one costs the hub much less
// than to ask for all.
func (r *Reconciler) stillPushed(ctx context.Context, s *corev1.Secret, names []string) (*types.NamespacedName, error) {
	last, ok := r.pushers.Load(client.ObjectKeyFromObject(s))
	if !ok {
		return nil, nil
	}
	app, key := &argocd.Application{}, last.(types.NamespacedName)
	if err := r.Live.Get(ctx, key, app); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !slices.Contains(names, destinationOf(app)) {
		return nil, nil
	}
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
