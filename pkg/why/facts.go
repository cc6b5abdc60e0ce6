package why

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// Facts are the read facts about the path of one Application.
type Facts struct {
	// Now is the current time.
	Now time.Time

	// Cluster is the requested cluster; empty for the cluster of the Application.
	Cluster string

	// Set is the ApplicationSet; nil for none.
	Set *Set

	// App is the Application; nil if missing.
	App *argocd.Application

	// Plan is Towline's plan for the Application, based on complete facts; nil if some facts are unreadable.
	Plan *delivery.Plan

	// Work is the Application's ManifestWork; nil for none. WorkUnread is true if the user may not read the work.
	Work       *workv1.ManifestWork
	WorkUnread bool

	// Managed are the facts about the cluster; nil if unreadable.
	Managed *managedcluster.Facts

	// Source is the state of towline-source, for an Application whose cluster reads the repositories through the hub; nil
	// if unreadable, and for all other Applications. Agent is the state of the cluster's agent, and Repository the first
	// repository of the Application that the hub cannot read; nil for none.
	Source     *SourceState
	Agent      AgentState
	Repository *Repository

	// Differences are the facts about differences in the hub's Argo CD; nil if not read.
	Differences *Differences

	// Unread are the forbidden reads, sorted.
	Unread []string
}

// Set is the known state of an ApplicationSet.
type Set struct {
	// Namespace and Name identify the ApplicationSet.
	Namespace, Name string

	// Missing is true if the hub does not have the ApplicationSet.
	Missing bool

	// Applications is the number of its Applications.
	Applications int

	// Conditions are the conditions of the ApplicationSet's status. ErrorOccurred blocks the ApplicationSet (Argo CD,
	// applicationset_types.go).
	Conditions []metav1.Condition

	// Placements are the Placements of the generators with clusterDecisionResource; empty for none.
	Placements []Placement

	// Secret is the state of the cluster Secret in the namespace of the ApplicationSet; empty if no generator needs a
	// cluster Secret.
	Secret SecretState
}

// Placement is a Placement of a generator.
type Placement struct {
	// Name is the name of the Placement, in the namespace of the ApplicationSet.
	Name string

	// Missing is true if the Placement has no PlacementDecision. Chosen is true if its decisions include the cluster.
	Missing, Chosen bool

	// Clusters is the number of chosen clusters.
	Clusters int
}

// SecretState is the known state of a cluster Secret.
type SecretState string

const (
	// SecretMissing means that the ApplicationSet's namespace has no cluster Secret for the cluster.
	SecretMissing SecretState = "missing"

	// SecretFound means that the ApplicationSet's namespace has a cluster Secret for the cluster.
	SecretFound SecretState = "found"

	// SecretUnread means that Secrets are unreadable.
	SecretUnread SecretState = "unread"
)
