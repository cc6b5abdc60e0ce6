package clusterimport

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// User is an Application for which a Secret stays.
type User struct {
	Application types.NamespacedName

	// Pushed is set for one that an Argo CD of the hub deploys itself. Those are not watched.
	Pushed bool
}

// Users are the Applications of the hub by how they name their clusters. Of several for one cluster it has one.
type Users map[string]User

// SameUser tells whether an Application keeps the same Secrets as before, as far as it is watched.
func SameUser(a, b *argocd.Application) bool { return a.Cluster() == b.Cluster() }

// Add notes how an Application names its cluster: for pull by the name of the ManagedCluster, and where an Argo CD of the hub
// deploys it by its destination. One for pull may be deployed by both: the annotation that keeps the hub's Argo CD away may
// be missing. One whose pull label says false counts as well, as it does in the cache: both looks have to come to the same.
func (u Users) Add(app *argocd.Application) {
	key := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	if _, labelled := app.Labels[apis.LabelPull]; labelled && app.Cluster() != "" {
		u["cluster "+app.Cluster()] = User{Application: key}
	}
	if by := destinationOf(app); by != "" {
		u[by] = User{Application: key, Pushed: true}
	}
}

// Of is an Application that uses a Secret; nil for none.
func (u Users) Of(s *corev1.Secret) *User {
	for _, by := range append([]string{"cluster " + clustersecret.Cluster(s)}, namesOf(s)...) {
		if user, found := u[by]; found {
			return &user
		}
	}
	return nil
}

// IsPushedTo tells whether an Argo CD of the hub deploys an Application to the cluster of a Secret.
func IsPushedTo(app *argocd.Application, s *corev1.Secret) bool {
	return slices.Contains(namesOf(s), destinationOf(app))
}

// namesOf are how destinations name the cluster of a Secret.
func namesOf(s *corev1.Secret) []string {
	return []string{"name " + clustersecret.NameOf(s), "server " + clustersecret.ServerOf(s)}
}

// destinationOf is how an Application that an Argo CD of the hub deploys names its cluster; empty where that is the one
// that its Argo CD runs on, which takes no Secret, or cannot be read.
func destinationOf(app *argocd.Application) string {
	if app.Pulled() && app.ReconcileSkipped() {
		return ""
	}
	name, server := app.Destination()
	switch {
	case cmp.Or(server, name) == "" || server == apis.InClusterServer:
		return ""
	case server != "":
		return "server " + server
	}
	return "name " + name
}
