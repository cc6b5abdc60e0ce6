// Package managedcluster collects all facts of Towline about a ManagedCluster of Open Cluster Management. Decisions
// about a cluster read the facts, and watches compare the facts, so that no input of a decision is forgotten. The
// package has no client.
//
// The agent of a cluster may write the whole of its ManagedCluster (Open Cluster Management 1.2), but not the
// cluster's namespace on the hub. A pause and an address could be used against others, so Towline reads them only
// from the namespace. For sources through the hub, the namespace has priority over the ManagedCluster.
package managedcluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// Facts are the facts about one ManagedCluster and its namespace. Facts are comparable. The zero value means that the
// hub has neither object.
type Facts struct {
	// Name is the cluster's name.
	Name string

	// Exists is true if the hub has the ManagedCluster.
	Exists bool

	// Deleting is true if the ManagedCluster is in deletion.
	Deleting bool

	// Accepted is true if the hub accepts the cluster: spec.hubAcceptsClient.
	Accepted bool

	// Ready is true if Open Cluster Management has accepted the cluster and created its namespace.
	Ready bool

	// Unreachable is since when, and why, the cluster does not report; empty for an available cluster.
	Unreachable string

	// Since is the start of the present availability, or of the present outage, in Unix seconds; zero for an unknown
	// time. The cluster may have written the time.
	Since int64

	// Paused is the name of the cluster's namespace, with a remark on an odd value, if a pause forbids writes for the
	// cluster; empty otherwise. The pause of a namespace also counts without the ManagedCluster.
	Paused string

	// Hub is true if the cluster is the hub itself.
	Hub bool

	// Server is the cluster's address for AppProjects; empty unless the hub's administrators have set the address.
	Server string

	// SourceHub is true if the label of the ManagedCluster lets the cluster read the repositories of all Applications
	// through the hub. A cluster that removes the label gets the credentials of the repositories that may travel.
	SourceHub bool

	// SourceChoice is the choice of the hub's administrators, with priority over SourceHub: every value but
	// apis.SourceDirect keeps the credentials on the hub. SourceChoice is empty without a choice.
	SourceChoice string

	// SourceAddress is the address at which the cluster's Argo CD reads repositories through the hub, from the hub's
	// administrators; empty for the address of the agent's Service.
	SourceAddress string

	// Labels are the cluster's labels in a canonical form. The labels decide about the cluster's sets.
	Labels string
}

// Of returns the facts about a cluster and its namespace on the hub. Each argument is nil for a missing object.
func Of(c *clusterv1.ManagedCluster, namespace *metav1.PartialObjectMetadata) Facts {
	var f Facts
	if c != nil {
		f = Facts{
			Name:        c.Name,
			Exists:      true,
			Deleting:    !c.DeletionTimestamp.IsZero(),
			Accepted:    c.Spec.HubAcceptsClient,
			Ready:       meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted),
			Unreachable: Unreachable(c),
			Since:       since(c),
			Hub:         authorization.IsHub(c),
			SourceHub:   c.Labels[apis.AnnotationSource] == apis.SourceHub,
			Labels:      canonical(c.Labels),
		}
	}
	if namespace != nil {
		f.Paused = argocd.PausedBy("Namespace "+namespace.Name, namespace.Annotations)
		f.Server = authorization.Address(namespace.Annotations)
		f.SourceChoice = namespace.Annotations[apis.AnnotationSource]
		f.SourceAddress = namespace.Annotations[apis.AnnotationSourceAddress]
	}
	return f
}

// AgentAddress returns the address of the agent for the cluster's Argo CD, for repositories through the hub.
func (f Facts) AgentAddress() string { return cmp.Or(f.SourceAddress, apis.DefaultSourceAddress) }

// ThroughHub reports whether Applications without an own choice read their repositories through the hub.
func (f Facts) ThroughHub() bool {
	if f.SourceChoice != "" {
		return f.SourceChoice != apis.SourceDirect
	}
	return f.SourceHub
}

// Reading returns an Application with the address at which the cluster reads the Application's repositories through the
// hub, or without an address if the cluster reads from the Git servers. The annotation of the Application has priority
// over the annotation of the cluster's namespace, and this annotation over the label of the ManagedCluster.
func (f Facts) Reading(app *argocd.Application) *argocd.Application {
	if app == nil {
		return nil
	}
	through, address := f.ThroughHub(), ""
	if choice := app.Annotations[apis.AnnotationSource]; choice != "" {
		through = choice == apis.SourceHub
	}
	if through {
		address = f.AgentAddress()
	}
	return app.ReadingAt(address)
}

// Detached returns why the hub has released an existing cluster; empty for a cluster that is not released.
func (f Facts) Detached() string {
	switch {
	case f.Deleting:
		return "the ManagedCluster is being deleted"
	case !f.Accepted:
		return "the ManagedCluster is not accepted any more"
	}
	return ""
}

// NotWaitedFor returns why a cluster will never answer; empty for a cluster that may answer.
func (f Facts) NotWaitedFor() string {
	if !f.Exists {
		return "the ManagedCluster does not exist any more"
	}
	return f.Detached()
}

// Heard reports whether a cluster's last report is up to date, and the cluster receives changes.
func (f Facts) Heard() bool { return f.Exists && f.Detached() == "" && f.Unreachable == "" }

// Unreachable returns since when, and why, the cluster does not report; empty for an available cluster. As in Open
// Cluster Management, a cluster without any report of availability is not available.
func Unreachable(c *clusterv1.ManagedCluster) string {
	a := available(c)
	switch {
	case a == nil:
		return fmt.Sprintf("cluster %s has not been available so far, since %s", c.Name, utc(c.CreationTimestamp))
	case a.Status == metav1.ConditionTrue:
		return ""
	}
	return fmt.Sprintf("cluster %s has not been available since %s: %s", c.Name, utc(a.LastTransitionTime), a.Message)
}

// CameOrWent reports whether the availability of a cluster differs, or the start of an outage. The message of the
// condition does not count, because the message changes often and requires no action.
func CameOrWent(before, after *clusterv1.ManagedCluster) bool {
	x, y := available(before), available(after)
	if x == nil || y == nil {
		return x != y
	}
	return x.Status != y.Status || x.Status != metav1.ConditionTrue && !x.LastTransitionTime.Equal(&y.LastTransitionTime)
}

// Changed reports whether the facts about a cluster differ, except for the message of its condition.
func Changed(before, after *clusterv1.ManagedCluster) bool {
	x, y := Of(before, nil), Of(after, nil)
	x.Unreachable, y.Unreachable, x.Since, y.Since = "", "", 0, 0
	return x != y || CameOrWent(before, after)
}

// NamespaceChanged reports whether the facts from a cluster's namespace differ. A namespace is nil before its
// creation and after its deletion.
func NamespaceChanged(before, after *metav1.PartialObjectMetadata) bool {
	return Of(nil, before) != Of(nil, after)
}

func available(c *clusterv1.ManagedCluster) *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
}

func since(c *clusterv1.ManagedCluster) int64 {
	if a := available(c); a != nil && !a.LastTransitionTime.IsZero() {
		return a.LastTransitionTime.Unix()
	}
	return 0
}

func utc(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

func canonical(labels map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(key + "=" + labels[key] + "\n")
	}
	return b.String()
}
