package managedresources

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is the kind of the objects of Resource.
const Kind = "ManagedResources"

// Status is the state of the managed resources of an Application on the hub. towline-source answers the state to users.
// The agent of a cluster decides only about the reasons of AgentReasons, for the Applications of the cluster.
type Status struct {
	// Application is the "<namespace>/<name>" of the Application on the hub.
	Application string `json:"application"`

	// Reason is why the hub has no entry; empty if the hub has an entry.
	Reason Reason `json:"reason,omitempty"`

	// Since is the time of the last write of the entry, or of the first notice of the reason, by the clock of the hub; nil
	// if unknown.
	Since *metav1.Time `json:"since,omitempty"`

	// Bytes is the size of the entry in Redis.
	Bytes int64 `json:"bytes,omitempty"`
}

// Reason is why the hub has no entry of an Application.
type Reason string

const (
	// ReasonClosed means that the hub takes no entry, because argocd-server may use the hub as a destination.
	ReasonClosed Reason = "Closed"

	// ReasonRedisUnavailable means that the Redis of the hub's Argo CD does not answer.
	ReasonRedisUnavailable Reason = "RedisUnavailable"

	// ReasonNotSent means that the agent of the cluster has sent neither an entry nor a reason within the last hour.
	ReasonNotSent Reason = "NotSent"

	// ReasonNoEntryOnCluster means that the Redis of the cluster's Argo CD has no entry.
	ReasonNoEntryOnCluster Reason = "NoEntryOnCluster"

	// ReasonTooLarge means that the entry is over a limit of Copy.
	ReasonTooLarge Reason = "TooLarge"

	// ReasonFull means that the entries of the cluster together are over the limit of towline-source.
	ReasonFull Reason = "Full"

	// ReasonInvalid means that the entry is not in the format of Argo CD.
	ReasonInvalid Reason = "Invalid"
)

// AgentReasons are the reasons that an agent can give.
var AgentReasons = []Reason{ReasonNoEntryOnCluster, ReasonTooLarge, ReasonFull, ReasonInvalid}

// Because is the parameter of a request that removes an entry: one of AgentReasons.
const Because = "because"

// ReadReason returns the reason in a value of the parameter Because; empty for every other text, for example of another
// version.
func ReadReason(text string) Reason {
	if r := Reason(text); slices.Contains(AgentReasons, r) {
		return r
	}
	return ""
}
