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
	// Name names it.
	Name string `json:"name"`

	// Counts count its Applications.
	Counts Counts `json:"counts"`

	// State is Blocked where nothing can be heard of the cluster or one of its Applications is blocked; Unknown where the
	// ManagedCluster may not be read and nothing is wrong with its Applications. Message says what is wrong with the cluster itself.
	State   why.State `json:"state"`
	Message string    `json:"message,omitempty"`

	// Heard is when it last said something; nil where that is not known.
	Heard *time.Time `json:"lastHeard,omitempty"`

	// Kubernetes is its version, and Agent that of Towline's agent there; empty where nothing tells.
	Kubernetes string `json:"kubernetes,omitempty"`
	Agent      string `json:"agent,omitempty"`

	// MissingRights are messages of those on the cluster who lack rights there, as far as its Applications tell; at most
	// maxMissingRights.
	MissingRights []string `json:"missingRights,omitempty"`
}

// maxMissingRights is how many messages of one cluster are shown: they are much alike.
const maxMissingRights = 3

// ClusterFacts are what was read of clusters beside their Applications.
type ClusterFacts struct {
	// Managed are the ManagedClusters, and ManagedUnread is set where they may not be read.
	Managed       []clusterv1.ManagedCluster
	ManagedUnread bool

	// Heard is when each cluster last renewed its Lease, by name, and Agents the version of Towline's agent; nil where they may not
	// be read.
	Heard  map[string]time.Time
	Agents map[string]string
}

// ClustersOf are the clusters that the hub has, or that rows name, in the order of their names.
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

// unknownCluster is one that an Application names, and of which there is no ManagedCluster, or none that may be read.
func unknownCluster(name string, unread bool) *Cluster {
	if unread {
		return &Cluster{Name: name, State: why.Unknown}
	}
	return &Cluster{Name: name, State: why.Blocked, Message: "there is no ManagedCluster of that name"}
}

// add counts an Application.
func (c *Cluster) add(r *Row) {
	c.Counts.Add(r)
	c.Heard = later(c.Heard, r.Heard)
	// The API server words a missing right so: the work agent's, or that of the cluster's Argo CD.
	if strings.Contains(r.Message, "is forbidden: User") && len(c.MissingRights) < maxMissingRights && !slices.Contains(c.MissingRights, r.Message) {
		c.MissingRights = append(c.MissingRights, r.Message)
	}
}

// ProblemClusters are those that are not well.
func ProblemClusters(clusters []Cluster) []Cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c Cluster) bool { return c.State == why.OK || c.State == why.Unknown })
}
