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

// User is an Application that keeps a Secret.
type User struct {
	Application types.NamespacedName

	// Pushed is set for an Application deployed by an Argo CD of the hub. Towline does not watch pushed Applications.
	Pushed bool
}

// Users are the Applications of the hub, by the name or address of the cluster. Each key has only one Application.
type Users map[string]User

// SameUser reports whether an Application for pull keeps the same Secrets as before.
func SameUser(a, b *argocd.Application) bool { return a.Cluster() == b.Cluster() }

// Add adds an Application under the names of the cluster: an Application for pull under the ManagedCluster, and a
// pushed Application under the destination. An Application for pull may get both keys: the annotation against the
// hub's Argo CD may be missing. As in the cache, a pull label of "false" counts as well, because both reads must give
// the same result.
func (u Users) Add(app *argocd.Application) {
	key := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	if _, labelled := app.Labels[apis.LabelPull]; labelled && app.Cluster() != "" {
		u["cluster "+app.Cluster()] = User{Application: key}
	}
	if by := destinationOf(app); by != "" {
		u[by] = User{Application: key, Pushed: true}
	}
}

// Of returns an Application with the cluster of the Secret; nil for none.
func (u Users) Of(s *corev1.Secret) *User {
	for _, by := range append([]string{"cluster " + clustersecret.Cluster(s)}, namesOf(s)...) {
		if user, found := u[by]; found {
			return &user
		}
	}
	return nil
}

// IsPushedTo reports whether an Argo CD of the hub deploys an Application to the cluster of a Secret.
func IsPushedTo(app *argocd.Application, s *corev1.Secret) bool {
	return slices.Contains(namesOf(s), destinationOf(app))
}

// namesOf returns the keys of a Secret's cluster in destinations.
func namesOf(s *corev1.Secret) []string {
	return []string{"name " + clustersecret.NameOf(s), "server " + clustersecret.ServerOf(s)}
}

// destinationOf returns the key of a pushed Application's destination. The result is empty for the in-cluster
// destination, which needs no Secret, and for an unreadable destination.
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
