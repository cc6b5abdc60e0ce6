package ui

import (
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// Source gives each request the hub as its user may read it.
type Source interface {
	// For is that of a request. An error of type *Refusal is shown as it is.
	For(r *http.Request) (Hub, error)
}

// Refusal is why a request gets no page.
type Refusal struct {
	// Code is that of HTTP, and Message says in words what to do.
	Code    int
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Hub is the hub as one user may read it.
type Hub interface {
	// Fleet is what is known of the Applications in these namespaces, none for all; the next one has what has changed.
	Fleet(ctx context.Context, namespaces []string) (*Fleet, error)

	// Changed is closed when the Fleet is no longer that of this version.
	Changed(version uint64) <-chan struct{}

	// Application is one Application with its surroundings, read now; nil where there is none.
	Application(ctx context.Context, key types.NamespacedName) (*Application, error)

	// Steps are what an ApplicationSet says of a rollout in steps, read now.
	Steps(ctx context.Context, key types.NamespacedName) ([]view.Step, error)

	// Cluster is what is known of a cluster beside its Applications, read now.
	Cluster(ctx context.Context, name string) (*Cluster, error)

	// Orphans are the works whose Applications the hub has lost, read now.
	Orphans(ctx context.Context) ([]Orphan, error)
}

// Fleet is what is known of Applications and clusters. It does not change: who has asked for it may keep it.
type Fleet struct {
	// Version differs whenever the fleet does.
	Version uint64

	// Places are the clusters with their Applications, in the order of their names.
	Places []Place

	// Labels are the keys of the labels of clusters, in their order.
	Labels []string

	// ManagedUnread is set where ManagedClusters may not be read, or have not been read yet.
	ManagedUnread bool

	// Reading is set while the first list is still being read: there is more than this.
	Reading bool

	// Unread says what may not be read, one entry for each kind.
	Unread []string

	// Outdated says what is shown as it was, one entry for each kind.
	Outdated []Outdated
}

// Outdated is a kind of which the API server tells nothing at the moment.
type Outdated struct {
	// What names the kind, Since is when the API server was last heard of it, and Why what has gone wrong since.
	What  string
	Since time.Time
	Why   string
}

// Place is a cluster with its Applications. It does not change: as long as nothing of a cluster does, each Fleet has the same one, and what
// was made of it holds.
type Place interface {
	// Cluster names it; empty for that of the Applications that name no cluster.
	Cluster() string

	// Read is what is known of it.
	Read() Content
}

// Content is what is known of a Place.
type Content struct {
	// Rows are the Applications, in the order of view.Sort.
	Rows []view.Row

	// Deleting are those that are being deleted, by "<namespace>/<name>", and since when.
	Deleting map[string]time.Time

	// Managed is the ManagedCluster, as far as is shown of it; nil where there is none, or where it may not be read.
	Managed *clusterv1.ManagedCluster
}

// facts are what view.ClustersOf asks for.
func (f *Fleet) facts(c *Content) *view.ClusterFacts {
	out := &view.ClusterFacts{ManagedUnread: f.ManagedUnread}
	if c.Managed != nil {
		out.Managed = []clusterv1.ManagedCluster{*c.Managed}
	}
	return out
}

// Application is one Application with its surroundings.
type Application struct {
	// App is the hub's Application.
	App *argocd.Application

	// Ladder is its way, and Tree what it brings.
	Ladder *why.Ladder
	Tree   *view.Node

	// Events are those about it, the newest first; EventsUnread is set where they may not be read.
	Events       []corev1.Event
	EventsUnread bool
}

// Cluster is what is known of one cluster beside its Applications.
type Cluster struct {
	// Managed is the ManagedCluster; nil where there is none, or where it may not be read.
	Managed *clusterv1.ManagedCluster

	// Heard is when it last renewed its Lease; nil where that is not known.
	Heard *time.Time

	// Agent is the version of Towline's agent there, as its add-on tells; empty where it does not.
	Agent string

	// Unread says what may not be read.
	Unread []string
}

// Orphan is a ManifestWork whose Application the hub has lost.
type Orphan struct {
	// Cluster and Work name it, and Application is the one it says it was made for.
	Cluster, Work, Application string

	// Since is when that was found; empty where that is not known. Decided is what somebody has decided.
	Since, Decided string
}
