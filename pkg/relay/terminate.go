package relay

import "github.com/towline-io/towline/pkg/apis/argocd"

// terminatePrefix begins the identity of a termination. The start time of the operation follows.
const terminatePrefix = "terminate/"

// TerminationID returns the identity of the request to stop the operation that began at startedAt.
func TerminationID(startedAt string) string { return terminatePrefix + startedAt }

// Terminate returns whether to ask the cluster to stop its running operation. The hub must show the phase Terminating
// for an operation with the same start time. sent is the last request in the work. The caller does not ask while a
// request is under way. Terminate repeats a request if the cluster's Application has changed and the operation still
// runs: Argo CD may have overwritten the first request.
func Terminate(hub *argocd.OperationState, sent Sent, there Cluster) bool {
	asked := hub.Terminating() && there.Busy && hub.StartedAt == there.StartedAt
	again := sent.ID != TerminationID(there.StartedAt) || sent.Version != there.Version
	return asked && again && there.Version != "" && there.Ready
}

// Withdraws returns whether a termination on the hub withdraws the hub's waiting operation, while the cluster runs no
// operation. The result is false for a termination already sent to the cluster for the ended operation.
func Withdraws(hub *argocd.OperationState, sent Sent) bool {
	return hub.Terminating() && sent.ID != TerminationID(hub.StartedAt)
}

// stopped returns whether the operation with a requested stop has ended on the cluster.
func stopped(sent Sent, there Cluster) bool {
	return !there.Busy && there.StartedAt != "" && sent.ID == TerminationID(there.StartedAt)
}
