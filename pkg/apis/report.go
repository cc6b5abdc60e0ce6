package apis

// ConditionClusterUnreachable is on the rows of a report whose cluster is not available: the content of the row is from
// the last report of the cluster. Written by the aggregation controller.
const ConditionClusterUnreachable = "ClusterUnreachable"

// Types of the standard conditions in a report's status.
const (
	// ConditionReady is True when every Application is synced and healthy, on a cluster that is available.
	ConditionReady = "Ready"

	// ConditionComplete is True when every Application has a row, and every resource is listed.
	ConditionComplete = "Complete"
)
