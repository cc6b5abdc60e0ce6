package check

import (
	"time"

	"github.com/towline-io/towline/pkg/why"
)

// The kinds of read objects, for Facts.Unread.
const (
	Deployments = "deployments"
	CRDs        = "customresourcedefinitions"
	Leases      = "leases"
	ConfigMaps  = "configmaps"
	Policies    = "validatingadmissionpolicies"
	Clusters    = "managedclusters"
	AddOns      = "managedclusteraddons"
	Templates   = "addontemplates"
	Reviews     = "subjectaccessreviews"
	APIServices = "apiservices"

	// Settings is the ConfigMap with the settings of Argo CD.
	Settings = "argocd-cm"

	GitOpsClusters  = "gitopsclusters"
	ClusterManagers = "clustermanagers"
)

// Facts are the facts about a hub, or about a managed cluster.
type Facts struct {
	// Now is the current time.
	Now time.Time

	// Unread are the unreadable kinds.
	Unread map[string]bool

	// Kubernetes is the version of the API server, like v1.35.1.
	Kubernetes string

	// Served are the resources that the API server serves, as "<group>/<version>/<resource>".
	Served map[string]bool

	// Fields tells for each entry of Schemas whether the CRD has the field, as "<crd>:<field>". Entries with a missing
	// CRD are absent.
	Fields map[string]bool

	// Rights tells for each checked right whether the user has the right. On a managed cluster, the work agent's rights
	// count.
	Rights map[Right]bool

	// Workloads are the Deployments and StatefulSets.
	Workloads []Workload

	// Plugin is the version of kubectl towline.
	Plugin string

	// Namespace is the namespace of the Argo CD on the hub, or on the managed cluster. Redis is the folder of --argocd-redis; empty without the flag.
	Namespace, Redis string

	// NoTree is true if Towline's flag --controllers excludes the controller that writes to Redis.
	NoTree bool

	// NoGitOpsClusters is true if Towline's flag --controllers excludes the controller of GitOpsClusters. The controller
	// makes cluster Secrets.
	NoGitOpsClusters bool

	// Services are the names of the Services in Namespace, and ArgoCDParams is the data of its ConfigMap
	// argocd-cmd-params-cm. Services is nil if one of the two is unreadable.
	Services     map[string]bool
	ArgoCDParams map[string]string

	// Lease is Towline's Lease; nil for none. OlderLease is the Lease of the older controller of GitOpsClusters.
	Lease, OlderLease *Lease

	// OlderDisabled is true if the configuration of the older controllers disables their pull model.
	OlderDisabled bool

	// Policies tells for each ValidatingAdmissionPolicy of Towline whether the policy has a binding.
	Policies map[string]bool

	// Agent is the image of the agent in its AddOnTemplate; empty for none.
	Agent string

	// ArgoAddOn is Open Cluster Management's add-on argocd; nil for a hub without the add-on.
	ArgoAddOn *ArgoAddOn

	// NilExecutor has the facts about the feature gate NilExecutorValidating.
	NilExecutor NilExecutor

	// ACM has the facts about Advanced Cluster Management; empty on other hubs.
	ACM ACM

	// Unlabelled are the Applications, as "<namespace>/<name>", that ask for a cluster but lack the pull label; nil if
	// Applications are unreadable.
	Unlabelled []string

	// Refused are messages of work agents about a failed apply of an Application, by cluster; nil if Applications are
	// unreadable.
	Refused map[string]string

	// Source is the state of towline-source; nil if unread.
	Source *why.SourceState

	// ThroughHub counts the Applications with the annotation to read their repositories through the hub, by cluster.
	ThroughHub map[string]int

	// Door is true if the agent in its AddOnTemplate serves repositories of the hub.
	Door bool

	// Sends is true if the agent in its AddOnTemplate sends managed resources.
	Sends bool

	// HubRefused is true if the settings of Argo CD make argocd-server refuse the hub as a destination.
	HubRefused bool

	// RedisAway is true if the Redis of the hub's Argo CD does not answer towline-source.
	RedisAway bool

	// Clusters are the ManagedClusters.
	Clusters []Cluster
}

// Right is a verb on a resource.
type Right struct{ Verb, Group, Resource, Namespace, Name string }

// Workload is a Deployment or StatefulSet.
type Workload struct {
	Namespace, Name string

	// Labels are the labels of the object. Image is of its first container.
	Labels map[string]string
	Image  string

	// ManagedResources is the value of the first container's argument --managed-resources. Other arguments may be secret, and the
	// bundle has the workloads.
	ManagedResources string

	// Stranger is true for a workload outside the namespaces of Towline's ServiceAccounts. The labels of a stranger do
	// not count.
	Stranger bool

	// Wanted and Ready are numbers of replicas.
	Wanted, Ready int32
}

// Lease is a Lease of leader election.
type Lease struct {
	Holder  string
	Renewed time.Time
}

// Live returns whether the Lease has a current holder.
func (l *Lease) Live(now time.Time) bool {
	return l != nil && l.Holder != "" && now.Sub(l.Renewed) < leaseLasts
}

// leaseLasts is longer than the interval in which controllers renew a Lease.
const leaseLasts = 2 * time.Minute

// Cluster is a ManagedCluster.
type Cluster struct {
	Name                string
	Accepted, Available bool

	// ThroughHub is true if the cluster reads the repositories of all Applications through the hub.
	ThroughHub bool

	// AddOns tells for each add-on of the cluster whether the add-on is Available.
	AddOns map[string]bool
}
