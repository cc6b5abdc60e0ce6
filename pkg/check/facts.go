package check

import "time"

// Kinds of what is read, for Facts.Unread.
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

	GitOpsClusters  = "gitopsclusters"
	ClusterManagers = "clustermanagers"
)

// Facts are what was read of a hub, or of a managed cluster.
type Facts struct {
	// Now is the time.
	Now time.Time

	// Unread are the kinds that may not be read.
	Unread map[string]bool

	// Kubernetes is the version of the API server, like v1.35.1.
	Kubernetes string

	// Served are the resources that the API server serves, as "<group>/<version>/<resource>".
	Served map[string]bool

	// Fields are the fields that the schemas of CRDs have, of those in Schemas, as "<crd>:<field>"; those that the API server has no
	// CRD for are not in it.
	Fields map[string]bool

	// Rights are what the user, or on a cluster the work agent, may do, of those that were asked for.
	Rights map[Right]bool

	// Workloads are the Deployments and StatefulSets.
	Workloads []Workload

	// Plugin is the version of kubectl towline.
	Plugin string

	// Namespace is the namespace of the hub's Argo CD. Redis is the folder of --argocd-redis; empty without the flag.
	Namespace, Redis string

	// NoTree is set where Towline's --controllers leave out the one that writes to Redis.
	NoTree bool

	// Services are the names of the Services in Namespace, and ArgoCDParams is the data of its ConfigMap argocd-cmd-params-cm. Services
	// is nil where one of the two may not be read.
	Services     map[string]bool
	ArgoCDParams map[string]string

	// Lease is Towline's; nil for none. OlderLease is that of the older controller of GitOpsClusters.
	Lease, OlderLease *Lease

	// OlderDisabled is set where the older controllers' own switch ends their pull model.
	OlderDisabled bool

	// Policies are the ValidatingAdmissionPolicies of Towline, with whether they are bound.
	Policies map[string]bool

	// Agent is the image of the agent in its AddOnTemplate; empty for none.
	Agent string

	// ArgoAddOn is Open Cluster Management's add-on argocd; nil for a hub without the add-on.
	ArgoAddOn *ArgoAddOn

	// NilExecutor is what was read of the feature gate NilExecutorValidating.
	NilExecutor NilExecutor

	// ACM is what was read of Advanced Cluster Management; empty on other hubs.
	ACM ACM

	// Unlabelled are the Applications, as "<namespace>/<name>", that ask for a cluster but lack the pull label; nil if Applications may
	// not be read.
	Unlabelled []string

	// Refused are messages of work agents that could not apply an Application, by cluster; nil where Applications may not be read.
	Refused map[string]string

	// Clusters are the ManagedClusters.
	Clusters []Cluster
}

// Right is something to do with a resource.
type Right struct{ Verb, Group, Resource, Namespace, Name string }

// Workload is a Deployment or StatefulSet.
type Workload struct {
	Namespace, Name string

	// Labels are those of the object, and Image that of its first container.
	Labels map[string]string
	Image  string

	// Stranger is set for a workload outside the namespaces of Towline's ServiceAccounts. Its labels say nothing.
	Stranger bool

	// Wanted and Ready are replicas.
	Wanted, Ready int32
}

// Lease is one of leader election.
type Lease struct {
	Holder  string
	Renewed time.Time
}

// Live tells whether somebody holds it.
func (l *Lease) Live(now time.Time) bool {
	return l != nil && l.Holder != "" && now.Sub(l.Renewed) < leaseLasts
}

// leaseLasts is longer than controllers need to renew one.
const leaseLasts = 2 * time.Minute

// Cluster is a ManagedCluster.
type Cluster struct {
	Name                string
	Accepted, Available bool

	// AddOns are the add-ons that the cluster has, with whether they are Available.
	AddOns map[string]bool
}
