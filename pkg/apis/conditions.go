package apis

// Types of the conditions that Towline sets in a hub Application's status.conditions. Argo CD takes a type
// that ends in "Error" for an error and one that ends in "Warning" for a warning, and shows both in its UI
// and CLI. A condition is there as long as its cause is, and goes with it.
const (
	// ConditionPropagationError: the Application cannot be sent to its cluster as it is. The message says
	// what is wrong and what to do. Written by the propagation controller.
	ConditionPropagationError = "PropagationError"

	// ConditionPropagationForbiddenError: the Application may not be sent where it asks to go. The message says
	// which object would allow it, or which one forbids it; with --on-revocation=delete also when the Application is
	// removed from its cluster, or why it stays there. Written by the propagation controller; there is this
	// one or PropagationError, never both.
	ConditionPropagationForbiddenError = "PropagationForbiddenError"

	// ConditionPausedWarning: an annotation pauses the Application, its ApplicationSet or its cluster: nothing is written for
	// the cluster, and a deletion waits. The message names the object with the annotation. Written by the propagation
	// controller, as the three below; there is one of them or of the two above, never more.
	ConditionPausedWarning = "PausedWarning"

	// ConditionReleaseWarning: the Application is being released, or has been: what runs on the cluster stays there. The
	// condition stays while the hub's own Argo CD leaves the Application alone.
	ConditionReleaseWarning = "ReleaseWarning"

	// ConditionMoveWarning: the cluster of the Application has changed, or its namespace there, and the earlier one still has
	// it. The message says what is being waited for.
	ConditionMoveWarning = "MoveWarning"

	// ConditionDeletionWarning: the Application is being deleted. The message says since when, which cluster is being
	// waited for, and whether an operation runs there, which comes first.
	ConditionDeletionWarning = "DeletionWarning"

	// ConditionRefreshWarning: a refresh was asked for and the cluster has not compared in time, or it has not compared what has
	// changed. It goes when it has. Written by the propagation controller.
	ConditionRefreshWarning = "RefreshTimeoutWarning"

	// ConditionWorkApplyError: the cluster's work agent could not apply the Application; the message is the
	// agent's. Written by the status controller.
	ConditionWorkApplyError = "ManifestWorkApplyError"

	// ConditionWorkAvailableWarning: the work agent applied the Application, but does not find it on the
	// cluster any more; the message is the agent's. Written by the status controller.
	ConditionWorkAvailableWarning = "ManifestWorkAvailableWarning"

	// ConditionClusterUnreachableWarning: the cluster is not available, and the rest of the status is what was so when
	// it was last heard of. The message says since when, and why. Written by the status controller.
	ConditionClusterUnreachableWarning = "ClusterUnreachableWarning"
)

// ConditionDependencyError is on a hub Application when something that it needs on its cluster, its AppProject, a
// credential or what it names in AnnotationWith, does not travel or was not taken there. The message says what to do.
// Written by the dependencies controller.
const ConditionDependencyError = "DependencyError"

// ConditionPlacementWarning is on a hub Application that follows a Placement, by AnnotationPlacement, which has not chosen just
// one cluster for it. The message says what to do. Written by the placement controller.
const ConditionPlacementWarning = "PlacementWarning"

// ConditionOperationError is on the rows of a report whose last operation failed, or failed and is tried again, where no
// SyncError tells why: Argo CD sets that for automated syncs only, when it has given up. Written by the aggregation
// controller. ACM Search tells of it too; then the status
// controller writes it on the Application, where the work agent does not say what became of the operation.
const ConditionOperationError = "OperationError"

// ConditionHydrationError is on a hub Application, and on its row, whose manifests the source hydrator of the cluster's Argo CD could not
// render or commit. That Argo CD goes on with what was hydrated before, and shows nothing else.
const ConditionHydrationError = "HydrationError"

// ConditionResourcesDegraded is on a hub Application that is Degraded, and on its row: the message names the resources that
// do not work, and says why. Written by the status and aggregation controllers from what the cluster's Argo CD says of the
// resources, where a source tells of that.
const ConditionResourcesDegraded = "ResourcesDegradedWarning"

// Conditions that tell how old is what the status says. Written by the status controller.
const (
	// ConditionNotCompared: the cluster's Argo CD does not compare the Application with Git any more. The message says since
	// when; the rest of the status is what was so then.
	ConditionNotCompared = "NotComparedWarning"

	// ConditionResourcesStale: the source of the resources does not answer, since when the message says.
	ConditionResourcesStale = "ResourcesStaleWarning"
)

// ConditionAdditionalStatusReport is not Towline's: older pull controllers (multicloud-integrations) put it on the Applications of
// ApplicationSets. The propagation controller takes it off.
const ConditionAdditionalStatusReport = "AdditionalStatusReport"

// ConditionOwner is the one that sets and clears conditions of a type. Nobody else touches them.
type ConditionOwner string

// The owners of conditions on hub Applications.
const (
	// OwnerPropagation decides whether and how an Application is sent.
	OwnerPropagation ConditionOwner = "propagation"

	// OwnerDependencies sends what an Application needs beside itself.
	OwnerDependencies ConditionOwner = "dependencies"

	// OwnerPlacement has Applications follow their Placements.
	OwnerPlacement ConditionOwner = "placement"

	// OwnerStatus tells of the way between hub and cluster.
	OwnerStatus ConditionOwner = "status"

	// OwnerCluster is the Argo CD of the cluster, by whichever source reports for it.
	OwnerCluster ConditionOwner = "cluster"
)

// ConditionRule says how conditions of one type are kept.
type ConditionRule struct {
	// Type is the type of the condition on the hub Application.
	Type string

	// Owner sets and clears it.
	Owner ConditionOwner

	// Row is the type under which the Application's row of a report shows it; empty where the row does not.
	Row string

	// Lasts is set for a condition whose time is that of its cause: another message leaves the time as it was.
	Lasts bool
}

// ConditionRules are the rules of all types that Towline writes on hub Applications. Types of the cluster's own Argo CD are
// not among them, but for ConditionOperationError, ConditionHydrationError and ConditionResourcesDegraded, which Towline finds out for it.
var ConditionRules = []ConditionRule{
	{Type: ConditionPropagationError, Owner: OwnerPropagation, Row: ConditionPropagationError},
	{Type: ConditionPropagationForbiddenError, Owner: OwnerPropagation, Row: ConditionPropagationForbiddenError},
	{Type: ConditionPausedWarning, Owner: OwnerPropagation, Row: ConditionPausedWarning, Lasts: true},
	{Type: ConditionReleaseWarning, Owner: OwnerPropagation, Row: ConditionReleaseWarning, Lasts: true},
	{Type: ConditionMoveWarning, Owner: OwnerPropagation, Row: ConditionMoveWarning, Lasts: true},
	{Type: ConditionDeletionWarning, Owner: OwnerPropagation, Row: ConditionDeletionWarning, Lasts: true},
	{Type: ConditionDependencyError, Owner: OwnerDependencies, Row: ConditionDependencyError},
	{Type: ConditionPlacementWarning, Owner: OwnerPlacement, Row: ConditionPlacementWarning},
	{Type: ConditionRefreshWarning, Owner: OwnerPropagation},
	{Type: ConditionWorkApplyError, Owner: OwnerStatus, Row: ConditionWorkApplyError},
	{Type: ConditionWorkAvailableWarning, Owner: OwnerStatus, Row: ConditionWorkAvailableWarning},
	{Type: ConditionClusterUnreachableWarning, Owner: OwnerStatus, Row: ConditionClusterUnreachable},
	{Type: ConditionNotCompared, Owner: OwnerStatus, Row: ConditionNotCompared},
	{Type: ConditionResourcesStale, Owner: OwnerStatus, Row: ConditionResourcesStale},
	{Type: ConditionOperationError, Owner: OwnerCluster, Row: ConditionOperationError},
	{Type: ConditionHydrationError, Owner: OwnerCluster, Row: ConditionHydrationError},
	{Type: ConditionResourcesDegraded, Owner: OwnerCluster, Row: ConditionResourcesDegraded},
}

// ConditionRuleOf is the rule of a type; the zero value for a type that Towline does not write.
func ConditionRuleOf(conditionType string) ConditionRule {
	for _, r := range ConditionRules {
		if r.Type == conditionType {
			return r
		}
	}
	return ConditionRule{}
}
