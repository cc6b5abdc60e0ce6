package why

import (
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-io/towline/pkg/managedresources"
)

// LinkDifferences is the name of the link about differences. The link is not part of the path: an Application runs without
// differences on the hub.
const LinkDifferences = "differences"

// Differences are the known facts about `argocd app diff` on the hub for an Application. The agent of the cluster sends
// the managed resources, and towline-source writes the managed resources into the Redis of the hub's Argo CD.
type Differences struct {
	// Unread is true if the user may not read the state of the managed resources.
	Unread bool

	// Absent is true if the hub does not deliver the Application to the cluster.
	Absent bool

	// Off is true if the hub takes no managed resources. Source is the state of towline-source then; nil if unreadable.
	Off    bool
	Source *SourceState

	// Status is the answer of towline-source.
	Status managedresources.Status

	// Agent is the state of the cluster's agent. Known if the agent has sent nothing.
	Agent AgentState
}

// AgentState is the state of Towline's agent on a cluster, as far as the hub shows the state.
type AgentState struct {
	// Missing is true without the agent's add-on. Unavailable is true for an add-on that is not available.
	Missing, Unavailable bool

	// Silent is true if the agents run without the option to send managed resources. Closed is true if the agents run
	// without the option to serve repositories of the hub.
	Silent, Closed bool
}

// SourceLog is the command for the log of towline-source on the hub.
const SourceLog = "kubectl logs -A -l app.kubernetes.io/name=towline-source --prefix"

// DifferencesPage is the page about differences.
const DifferencesPage = "see docs/argocd-ui.md, Differences and manifests"

// The commands for the agent.
const (
	agentAddOn = "kubectl -n CLUSTER describe managedclusteraddon towline-agent"
	agentLog   = "kubectl -n open-cluster-management-agent-addon logs deployment/towline-agent # on the cluster"
)

// differences returns the link about differences; nil without facts.
func (f *Facts) differences() *Link {
	d := f.Differences
	if d == nil {
		return nil
	}
	k := Link{State: Blocked, Reason: string(d.Status.Reason)}
	if since := d.Status.Since; since != nil {
		k.Since = &since.Time
	}
	switch {
	case d.Unread:
		k.State, k.Message = Unknown, "managedresources in namespace "+word(f.App.Cluster())+" may not be read"
	case d.Absent:
		k.State, k.Message = Later, "Towline does not deliver the Application to the cluster"
	case d.Off:
		d.off(&k)
	case k.Reason == "" && k.Since != nil:
		k.State, k.Message, k.Since = OK, "available, written "+duration.HumanDuration(f.Now.Sub(*k.Since))+" ago", nil
	case k.Reason == "":
		k.State, k.Message = OK, "available"
	case d.Status.Reason == managedresources.ReasonNotSent:
		d.notSent(&k)
	default:
		because := missing[d.Status.Reason]
		k.Message, k.Who, k.Do = because.message, because.who, because.do
	}
	k.Name, k.Who, k.Do = LinkDifferences, f.command(k.Who), f.command(k.Do)
	if k.State == Blocked || k.State == Off {
		k.Message = "not available: " + k.Message
	}
	return &k
}

// off sets the link for a hub that takes no managed resources.
func (d *Differences) off(k *Link) {
	k.State, k.Who, k.Do = Off, admin, DifferencesPage
	switch {
	case d.Source == nil, d.Source.Missing:
		k.Message = "the hub has no towline-source with --managed-resources"
	case d.Source.Unavailable != "":
		k.State, k.Since = Blocked, d.Source.Since
		k.Message, k.Do = d.Source.Problem()
	default:
		k.Message = "towline-source runs without --managed-resources"
	}
}

// notSent sets the link for an agent that has sent nothing.
func (d *Differences) notSent(k *Link) {
	k.Who, k.Do = admin, DifferencesPage
	switch {
	case d.Agent.Missing:
		k.State, k.Message = Off, "the cluster does not have the add-on towline-agent"
	case d.Agent.Silent:
		k.State, k.Message = Off, "the agents run without --argocd-managed-resources"
	case d.Agent.Unavailable:
		k.Message, k.Do = "the agent of the cluster does not answer the hub", agentAddOn
	default:
		k.Message = "the agent of the cluster has sent nothing within the last hour. A new agent needs a moment. Otherwise the agent does not reach " +
			"the Redis of its Argo CD, or the hub"
		k.Who, k.Do = operator, agentLog
	}
}

// missing are the remedies by the reason of towline-source.
var missing = map[managedresources.Reason]struct{ message, who, do string }{
	managedresources.ReasonClosed: {`the ConfigMap argocd-cm on the hub does not have cluster.inClusterEnabled: "false", and towline-source runs with ` +
		"--managed-resources=guarded", admin, DifferencesPage},
	managedresources.ReasonRedisUnavailable: {"the Redis of the hub's Argo CD does not answer towline-source", admin, SourceLog},
	managedresources.ReasonNoEntryOnCluster: {"the Redis of the cluster's Argo CD has no comparison of the Application", operator,
		"kubectl towline refresh -n NAMESPACE APP"},
	managedresources.ReasonTooLarge: {"the Application has more than 5,000 resources, or manifests of more than 16 MiB, or of more than 2 MiB when " +
		"compressed", author, "split the Application"},
	managedresources.ReasonFull: {"the Applications of the cluster together have more than --max-managed-bytes of towline-source", admin,
		"raise --max-managed-bytes of towline-source, with the memory of Argo CD's Redis"},
	managedresources.ReasonInvalid: {"Towline cannot read the comparison of the cluster's Argo CD", operator, agentLog},
}
