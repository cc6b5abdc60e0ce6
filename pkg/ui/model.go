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

// Source gives each request the hub with the rights of its user.
type Source interface {
	// For returns the hub of a request. The page shows an error of type *Refusal unchanged.
	For(r *http.Request) (Hub, error)
}

// Refusal is the reason why a request gets no page.
type Refusal struct {
	// Code is the HTTP status. Message tells the user how to proceed.
	Code    int
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Hub is the hub with the rights of one user.
type Hub interface {
	// Fleet returns the known Applications in the given namespaces, or in all namespaces if none is given. A later call
	// returns later changes.
	Fleet(ctx context.Context, namespaces []string) (*Fleet, error)

	// Changed is closed when the Fleet has a different version.
	Changed(version uint64) <-chan struct{}

	// Application reads one Application with its surroundings; nil if missing.
	Application(ctx context.Context, key types.NamespacedName) (*Application, error)

	// Steps reads the progress of an ApplicationSet's stepwise rollout.
	Steps(ctx context.Context, key types.NamespacedName) ([]view.Step, error)

	// Cluster reads the facts about a cluster, without its Applications.
	Cluster(ctx context.Context, name string) (*Cluster, error)

	// Orphans reads the works with a lost Application on the hub.
	Orphans(ctx context.Context) ([]Orphan, error)
}

// Fleet is the known Applications and clusters. A Fleet is immutable: the caller may keep the Fleet.
type Fleet struct {
	// Version differs for different fleets.
	Version uint64

	// Places are the clusters with their Applications, sorted by name.
	Places []Place

	// Labels are the keys of the clusters' labels, sorted.
	Labels []string

	// ManagedUnread is true if ManagedClusters are unreadable or not yet read.
	ManagedUnread bool

	// Reading is true while the first list is incomplete.
	Reading bool

	// Unread has a message for each unreadable kind.
	Unread []string

	// Outdated has an entry for each kind with outdated content.
	Outdated []Outdated
}

// Outdated is a kind without current data from the API server.
type Outdated struct {
	// What is the name of the kind, Since is the time of the API server's last answer, and Why the error since that
	// time.
	What  string
	Since time.Time
	Why   string
}

// Place is a cluster with its Applications. A Place is immutable. While a cluster does not change, each Fleet has the
// same Place, and results derived from the Place stay valid.
type Place interface {
	// Cluster returns the cluster's name; empty for the Place of the Applications without a cluster.
	Cluster() string

	// Read returns the content.
	Read() Content
}

// Content is the content of a Place.
type Content struct {
	// Rows are the Applications, in the order of view.Sort.
	Rows []view.Row

	// Deleting has the deletion time of Applications under deletion, by "<namespace>/<name>".
	Deleting map[string]time.Time

	// Managed is the shown part of the ManagedCluster; nil if missing or unreadable.
	Managed *clusterv1.ManagedCluster
}

// facts returns the arguments for view.ClustersOf.
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

	// Diagnosis is the path of the Application, and Tree its objects.
	Diagnosis *why.Diagnosis
	Tree      *view.Node

	// Events are the events about the Application, the newest first. EventsUnread is true if events are unreadable.
	Events       []corev1.Event
	EventsUnread bool
}

// Cluster is the facts about one cluster, without its Applications.
type Cluster struct {
	// Managed is the ManagedCluster; nil if missing or unreadable.
	Managed *clusterv1.ManagedCluster

	// Heard is the last renewal of the cluster's Lease; nil if unknown.
	Heard *time.Time

	// Agent is the version of Towline's agent on the cluster, from its add-on; empty if unknown.
	Agent string

	// Unread has messages about unreadable objects.
	Unread []string
}

// Orphan is a ManifestWork with a lost Application on the hub.
type Orphan struct {
	// Cluster and Work identify the ManifestWork. Application is the Application named in the work.
	Cluster, Work, Application string

	// Since is the time when Towline found the loss; empty if unknown. Decided is a person's decision.
	Since, Decided string
}
