package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/why"
)

// Cluster is one managed cluster.
type Cluster struct {
	// Name is the name of the cluster.
	Name string `json:"name"`

	// Counts count the cluster's Applications.
	Counts Counts `json:"counts"`

	// State is Blocked if the cluster is unreachable or one of its Applications is blocked. State is Unknown if the
	// ManagedCluster is unreadable and no Application has a problem. Message is the problem of the cluster itself.
	State   why.State `json:"state"`
	Message string    `json:"message,omitempty"`

	// Heard is the time of the cluster's last sign of life; nil if unknown.
	Heard *time.Time `json:"lastHeard,omitempty"`

	// Kubernetes is the version of the cluster, and Agent the version of Towline's agent on the cluster; empty if
	// unknown.
	Kubernetes string `json:"kubernetes,omitempty"`
	Agent      string `json:"agent,omitempty"`

	// MissingRights are error messages about missing rights on the cluster, from its Applications; at most
	// maxMissingRights.
	MissingRights []string `json:"missingRights,omitempty"`
}

// maxMissingRights limits the number of messages for one cluster, because the messages are similar.
const maxMissingRights = 3

// ClusterFacts are the read facts of clusters, in addition to their Applications.
type ClusterFacts struct {
	// Managed are the ManagedClusters. ManagedUnread is true if the caller may not read ManagedClusters.
	Managed       []clusterv1.ManagedCluster
	ManagedUnread bool

	// Heard is the last renewal of each cluster's Lease, by cluster name; nil if unreadable. Agents has the version of
	// Towline's agent, by cluster name; nil if unreadable.
	Heard  map[string]time.Time
	Agents map[string]string
}

// ClustersOf returns the hub's clusters and the clusters named in rows, sorted by name.
func ClustersOf(rows []Row, f *ClusterFacts) []Cluster {
	known := map[string]*Cluster{}
	for i := range f.Managed {
		c := ofManaged(&f.Managed[i])
		known[c.Name] = &c
	}
	for i := range rows {
		name := rows[i].Cluster
		if name == "" {
			continue
		}
		if known[name] == nil {
			known[name] = unknownCluster(name, f.ManagedUnread)
		}
		known[name].add(&rows[i])
	}
	out := make([]Cluster, 0, len(known))
	for name, c := range known {
		if t, ok := f.Heard[name]; ok {
			c.Heard = later(c.Heard, &t)
		}
		c.Agent = f.Agents[name]
		c.State = Worst(c.State, cmp.Or(c.Counts.State(), why.OK))
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func ofManaged(m *clusterv1.ManagedCluster) Cluster {
	facts := managedcluster.Of(m, nil)
	c := Cluster{Name: m.Name, Kubernetes: m.Status.Version.Kubernetes, State: why.OK, Message: cmp.Or(facts.Detached(), facts.Unreachable)}
	if c.Message != "" {
		c.State = why.Blocked
	}
	return c
}

// unknownCluster returns a cluster that only an Application names: the ManagedCluster is missing, or unreadable if
// unread is true.
func unknownCluster(name string, unread bool) *Cluster {
	if unread {
		return &Cluster{Name: name, State: why.Unknown}
	}
	return &Cluster{Name: name, State: why.Blocked, Message: "the ManagedCluster does not exist"}
}

// add counts an Application.
func (c *Cluster) add(r *Row) {
	c.Counts.Add(r)
	c.Heard = later(c.Heard, r.Heard)
	// The API server uses these words for a missing right of the work agent or of the cluster's Argo CD.
	if strings.Contains(r.Message, "is forbidden: User") && len(c.MissingRights) < maxMissingRights && !slices.Contains(c.MissingRights, r.Message) {
		c.MissingRights = append(c.MissingRights, r.Message)
	}
}

// ProblemClusters returns the clusters with problems.
func ProblemClusters(clusters []Cluster) []Cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c Cluster) bool { return c.State == why.OK || c.State == why.Unknown })
}
