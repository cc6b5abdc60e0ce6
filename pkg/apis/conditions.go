package apis

// Types of the conditions that Towline sets in a hub Application's status.conditions. Argo CD takes a type
// that ends in "Error" for an error and one that ends in "Warning" for a warning, and shows both in its UI
// and CLI. A condition is there as long as its cause is, and goes with it.
const (
	// ConditionPropagationError: the Application cannot be sent to its cluster as it is. The message says
	// what is wrong and what to do. Written by the propagation controller.
	ConditionPropagationError = "PropagationError"

	// ConditionPropagationForbiddenError: the Application may not be sent where it asks to go. The message says
	// which object would allow it, or which one forbids it. Written by the propagation controller; there is this
	// one or PropagationError, never both.
	ConditionPropagationForbiddenError = "PropagationForbiddenError"

	// ConditionPausedWarning: someone paused the Application, its ApplicationSet or its cluster: nothing is written for
	// the cluster, and a deletion waits. Written by the propagation controller, as the three below; there is one of
	// them or of the two above, never more.
	ConditionPausedWarning = "PausedWarning"

	// ConditionReleaseWarning: the Application is being let go of, or has been: what runs on the cluster stays there.
	ConditionReleaseWarning = "ReleaseWarning"

	// ConditionMoveWarning: the Application changes clusters, or its namespace on one. The message says what is being
	// waited for.
	ConditionMoveWarning = "MoveWarning"

	// ConditionDeletionWarning: the Application is being deleted. The message says since when, and which cluster is
	// being waited for.
	ConditionDeletionWarning = "DeletionWarning"

	// ConditionRefreshWarning: a refresh was asked for and the cluster has not compared in time. It goes with the
	// next refresh that is asked for. Written by the propagation controller.
	ConditionRefreshWarning = "RefreshTimeoutWarning"

	// ConditionWorkApplyError: the cluster's work agent could not apply the Application; the message is the
	// agent's. Written by the status controller.
	ConditionWorkApplyError = "ManifestWorkApplyError"

	// ConditionWorkAvailableWarning: the work agent applied the Application, but does not find it on the
	// cluster any more; the message is the agent's. Written by the status controller.
	ConditionWorkAvailableWarning = "ManifestWorkAvailableWarning"

	// ConditionClusterUnreachableWarning: the cluster is not available, and the rest of the status is what was so when
	// it was last heard of. Written by the status controller.
	ConditionClusterUnreachableWarning = "ClusterUnreachableWarning"
)

// ConditionOperationError is on the rows of a report whose last operation failed, where no SyncError tells why: Argo CD
// sets that for automated syncs only. Written by the aggregation controller. ACM Search tells of it too; then the status
// controller writes it on the Application, where the work agent does not say what became of the operation.
const ConditionOperationError = "OperationError"
