package apis

// Types of the conditions that Towline sets in a hub Application's status.conditions. Argo CD takes a type
// that ends in "Error" for an error and one that ends in "Warning" for a warning, and shows both in its UI
// and CLI. A condition is there as long as its cause is, and goes with it.
const (
	// ConditionPropagationError: the Application cannot be sent to its cluster as it is. The message says
	// what is wrong and what to do. Written by the propagation controller.
	ConditionPropagationError = "PropagationError"

	// ConditionPropagationForbiddenError: the Application may not be sent where it asks to go. The message says
	// which object would allow it, or which one forbids it; with --on-revocation=delete it also says that the
	// Application is being removed from its cluster, or why it stays there. Written by the propagation controller; there is this
	// one or PropagationError, never both.
	ConditionPropagationForbiddenError = "PropagationForbiddenError"

	// ConditionPausedWarning: an annotation pauses the Application, its ApplicationSet or its cluster: Towline writes nothing
	// for the cluster, and a deletion waits. The message names the object with the annotation. Written by the propagation
	// controller, as the three below; there is one of them or of the two above, never more.
	ConditionPausedWarning = "PausedWarning"

	// ConditionReleaseWarning: the Application is being released, or has been: what runs on the cluster stays there. The
	// condition stays while the hub's own Argo CD leaves the Application alone.
	ConditionReleaseWarning = "ReleaseWarning"

	// ConditionMoveWarning: the Application has another cluster, or another namespace there, and is still in the earlier one.
	// The message says what Towline waits for.
	ConditionMoveWarning = "MoveWarning"

	// ConditionDeletionWarning: the Application is being deleted. The message says since when, which cluster Towline
	// waits for, and whether an operation has to end there first.
	ConditionDeletionWarning = "DeletionWarning"

	// ConditionRefreshWarning: somebody asked for a refresh, or the Application has changed, and the cluster has not compared it
	// with Git in time. The condition goes when the cluster has done so. Written by the propagation controller.
	ConditionRefreshWarning = "RefreshTimeoutWarning"

	// ConditionWorkApplyError: the cluster's work agent could not apply the Application; the message is the
	// agent's. Written by the status controller.
	ConditionWorkApplyError = "ManifestWorkApplyError"

	// ConditionWorkAvailableWarning: the work agent applied the Application, but no longer finds it on
	// the cluster; the message is the agent's. Written by the status controller.
	ConditionWorkAvailableWarning = "ManifestWorkAvailableWarning"

	// ConditionClusterUnreachableWarning: the cluster is not available. The rest of the status is from the time when
	// the hub last heard of it. The message says since when, and why. Written by the status controller.
	ConditionClusterUnreachableWarning = "ClusterUnreachableWarning"
)

// ConditionDependencyError is on a hub Application if something that it needs on its cluster was not sent or not accepted there: its
// AppProject, a credential, or an object that it names in AnnotationWith. The message says what to do.
// Written by the dependencies controller.
const ConditionDependencyError = "DependencyError"

// ConditionPlacementWarning is on a hub Application that follows a Placement (annotation apps.open-cluster-management.io/placement), if
// this Placement has chosen no
// cluster, or more than one. The message says what to do. Written by the placement controller.
const ConditionPlacementWarning = "PlacementWarning"

// ConditionOperationError is on a row of a report if the last operation failed, or failed and is being retried, and no SyncError says
// why: Argo CD sets a SyncError only for automated syncs, after the last retry. If only ACM Search knows of the operation, the
// condition is on the Application too. Written by the aggregation and status controllers.
const ConditionOperationError = "OperationError"

// ConditionHydrationError is on a hub Application, and on its row, if the source hydrator of the cluster's Argo CD could not render or
// commit its manifests. The cluster's Argo CD continues with the manifests that it hydrated before, and does not show the error itself.
const ConditionHydrationError = "HydrationError"

// ConditionResourcesDegraded is on a hub Application that is Degraded, and on its row. The message names the degraded
// resources, and says why. Written by the status and aggregation controllers from what the cluster's Argo CD says of the
// resources, where a source tells of that.
const ConditionResourcesDegraded = "ResourcesDegradedWarning"

// Conditions that tell how old is what the status says. Written by the status controller.
const (
	// ConditionNotCompared: the cluster's Argo CD has stopped comparing the Application with Git. The message says since when;
	// the rest of the status is from that time.
	ConditionNotCompared = "NotComparedWarning"

	// ConditionResourcesStale: the source of the resources does not answer. The message says since when.
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
