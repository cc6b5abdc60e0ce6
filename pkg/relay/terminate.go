package relay

import "github.com/towline-io/towline/pkg/apis/argocd"

// terminatePrefix begins the identity of a termination; what follows is when the operation began.
const terminatePrefix = "terminate/"

// TerminationID is the identity of the request to stop the operation that began then.
func TerminationID(startedAt string) string { return terminatePrefix + startedAt }

// Terminate tells whether to ask the cluster to stop the operation that runs there: the hub shows the one that began
// at the same time as being stopped. sent is the request that the work carried last; one that is on its way is not
// asked about. It is asked for again when the cluster's Application has changed and the operation runs all the same:
// Argo CD may have written over the first request.
func Terminate(hub *argocd.OperationState, sent Sent, there Cluster) bool {
	asked := hub.Phase == "Terminating" && there.Busy && hub.StartedAt == there.StartedAt
	again := sent.ID != TerminationID(there.StartedAt) || sent.Version != there.Version
	return asked && again && there.Version != "" && there.Ready
}

// Withdraws tells whether a termination on the hub, where nothing runs on the cluster, is of the operation that waits
// on the hub: it is not when the cluster was asked to stop the one that has ended.
func Withdraws(hub *argocd.OperationState, sent Sent) bool {
	return hub != nil && hub.Phase == "Terminating" && sent.ID != TerminationID(hub.StartedAt)
}

// Stopped tells whether the operation that the cluster was asked to stop has ended there.
func Stopped(sent Sent, there Cluster) bool {
	return !there.Busy && there.StartedAt != "" && sent.ID == TerminationID(there.StartedAt)
}
