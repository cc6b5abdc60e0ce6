// Package managedcluster says in one place what Towline knows of a ManagedCluster of Open Cluster Management. Who decides
// by a cluster reads these facts, and watches compare them, so that no input of a decision is forgotten. It has no client.
//
// The agent of a cluster may write the whole of its ManagedCluster (Open Cluster Management 1.2), and nothing of the cluster's
// namespace on the hub. So a pause and an address, which could be used against others, count on that namespace only.
package managedcluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// Facts are what is known of one ManagedCluster, and of its namespace. They can be compared. The zero value is one of which the
// hub has neither.
type Facts struct {
	// Name is the cluster's name.
	Name string

	// Exists is set when the hub has the ManagedCluster.
	Exists bool

	// Deleting is set when its deletion was asked for.
	Deleting bool

	// Accepted is set when the hub accepts it: spec.hubAcceptsClient.
	Accepted bool

	// Ready is set when Open Cluster Management has accepted it and made its namespace.
	Ready bool

	// Unreachable says since when, and why, nothing can be heard of it; empty when it is available.
	Unreachable string

	// Since is since when it is available, or is not, in seconds as Unix counts them; zero where that is not known. The cluster may
	// have written it.
	Since int64

	// Paused names its namespace, with a remark on an odd value, when nothing is to be written for it; empty otherwise. The pause
	// of a namespace holds without the ManagedCluster too.
	Paused string

	// Hub is set when it is the hub itself.
	Hub bool

	// Server is its address as AppProjects name it; empty while the hub's administrators have not given it.
	Server string

	// Labels are its labels in a canonical form: they put it into sets.
	Labels string
}

// Of are the facts about a cluster, and about its namespace on the hub. Each is nil where the hub does not have it.
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
			Labels:      canonical(c.Labels),
		}
	}
	if namespace != nil {
		f.Paused = argocd.PausedBy("Namespace "+namespace.Name, namespace.Annotations)
		f.Server = authorization.Address(namespace.Annotations)
	}
	return f
}

// Detached is why the hub has released a cluster that it still has; empty where it has not.
func (f Facts) Detached() string {
	switch {
	case f.Deleting:
		return "the ManagedCluster is being deleted"
	case !f.Accepted:
		return "the ManagedCluster is not accepted any more"
	}
	return ""
}

// NotWaitedFor is why a cluster will never answer; empty for one that may.
func (f Facts) NotWaitedFor() string {
	if !f.Exists {
		return "there is no such ManagedCluster any more"
	}
	return f.Detached()
}

// Heard tells whether what a cluster said last holds, and whether it hears.
func (f Facts) Heard() bool { return f.Exists && f.Detached() == "" && f.Unreachable == "" }

// Unreachable says since when, and why, nothing can be heard of the cluster; it is empty when the cluster is
// available. As Open Cluster Management has it, a cluster that has never said so is not.
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

// CameOrWent tells whether a cluster can be heard of in one of two states only, or since another time. The words of its
// condition do not count: they change as often as anyone likes, and give nobody more to do.
func CameOrWent(before, after *clusterv1.ManagedCluster) bool {
	x, y := available(before), available(after)
	if x == nil || y == nil {
		return x != y
	}
	return x.Status != y.Status || x.Status != metav1.ConditionTrue && !x.LastTransitionTime.Equal(&y.LastTransitionTime)
}

// Changed tells whether any of the facts about a cluster differs, but for the words of its condition.
func Changed(before, after *clusterv1.ManagedCluster) bool {
	x, y := Of(before, nil), Of(after, nil)
	x.Unreachable, y.Unreachable, x.Since, y.Since = "", "", 0, 0
	return x != y || CameOrWent(before, after)
}

// NamespaceChanged tells whether any of the facts about a cluster differs by its namespace, which is nil before it comes and after
// it goes.
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
