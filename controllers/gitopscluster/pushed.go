package gitopscluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// errPushed asks for another look: Applications that are pushed to a cluster are not watched.
var errPushed = errors.New("an Application is pushed to the cluster")

// pushedAgain is when.
const pushedAgain = time.Minute

// notPulled selects the Applications that Towline does not deliver; the cache has none of them. The values are what
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
	if u.pushed == nil {
		if u.pushed, err = u.r.readPushed(ctx); err != nil {
			return nil, false, err
		}
	}
	for _, by := range []string{"name " + clustersecret.NameOf(s), "server " + clustersecret.ServerOf(s)} {
		if key, ok := u.pushed[by]; ok {
			return &key, true, nil
		}
	}
	return nil, false, nil
}

// readPushed asks the API server: most hubs have none, and what is removed is removed rarely.
func (r *Reconciler) readPushed(ctx context.Context) (pushed, error) {
	out, list := pushed{}, &argocd.ApplicationList{}
	for {
		err := r.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: notPulled}, client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if by := destinationOf(&list.Items[i]); by != "" {
				out[by] = client.ObjectKeyFromObject(&list.Items[i])
			}
		}
		if list.Continue == "" {
			return out, nil
		}
	}
}

// destinationOf is how an Application names its cluster; empty where that is the one that its Argo CD runs on, which
// takes no Secret, or cannot be read.
func destinationOf(app *argocd.Application) string {
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
