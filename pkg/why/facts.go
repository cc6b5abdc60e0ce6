package why

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// Facts are what was read of the way of one Application.
type Facts struct {
	// Now is the time.
	Now time.Time

	// Cluster is the one that was asked for; empty for that of the Application.
	Cluster string

	// Set is the ApplicationSet; nil for none.
	Set *Set

	// App is the Application; nil where there is none.
	App *argocd.Application

	// Plan is what Towline does about it, from facts that could all be read; nil where some could not.
	Plan *delivery.Plan

	// Work is its ManifestWork; nil for none. WorkUnread is set where it may not be read.
	Work       *workv1.ManifestWork
	WorkUnread bool

	// Managed are the facts about its cluster; nil where they may not be read.
	Managed *managedcluster.Facts

	// Unread are the reads that are not allowed, sorted.
	Unread []string
}

// Set is what is known of an ApplicationSet.
type Set struct {
	// Namespace and Name name it.
	Namespace, Name string

	// Missing is set where the hub does not have it.
	Missing bool

	// Applications is how many Applications it has.
	Applications int

	// Conditions are those of its status: ErrorOccurred is the one that stops it (Argo CD, applicationset_types.go).
	Conditions []metav1.Condition

	// Placements are those that its generators follow by clusterDecisionResource; empty for none.
	Placements []Placement

	// Secret tells of the cluster Secret of the cluster in the set's namespace; empty where no generator needs one.
	Secret SecretState
}

// Placement is one that a generator follows.
type Placement struct {
	// Name names it, in the namespace of the set.
	Name string

	// Missing is set where it has no PlacementDecision, and Chosen where its decisions have the cluster.
	Missing, Chosen bool

	// Clusters is how many it has chosen.
	Clusters int
}

// SecretState is what is known of a cluster Secret.
type SecretState string

const (
	// SecretMissing says that there is none of that cluster.
	SecretMissing SecretState = "missing"

	// SecretFound says that there is one.
	SecretFound SecretState = "found"

	// SecretUnread says that Secrets may not be read.
	SecretUnread SecretState = "unread"
)
