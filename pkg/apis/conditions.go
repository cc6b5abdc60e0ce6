package apis

// Types of the conditions that Towline sets in a hub Application's status.conditions. Argo CD takes a type
// that ends in "Error" for an error and one that ends in "Warning" for a warning, and shows both in its UI
// and CLI. A condition is there as long as its cause is, and goes with it.
const (
	// ConditionPropagationError: the Application cannot be sent to its cluster in its present form. The message has the
	// cause and the remedy. Written by the propagation controller.
	ConditionPropagationError = "PropagationError"

	// ConditionPropagationForbiddenError: the Application must not be sent to its target. The message names the object
	// that would permit the Application, or the object that forbids it. With --on-revocation=delete, the message also
	// announces the removal from the cluster, or says why the Application stays. Written by the propagation controller;
	// an Application has this condition or PropagationError, never both.
	ConditionPropagationForbiddenError = "PropagationForbiddenError"

	// ConditionPausedWarning: an annotation pauses the Application, its ApplicationSet or its cluster. Towline writes no
	// work for the cluster, and a deletion waits. The message names the object with the annotation. Written by the
	// propagation controller, as the three below; an Application has at most one of these and the two above.
	ConditionPausedWarning = "PausedWarning"

	// ConditionReleaseWarning: the release of the Application runs or is done, and everything stays on the cluster. The
	// condition stays while the hub's own Argo CD skips the Application.
	ConditionReleaseWarning = "ReleaseWarning"

	// ConditionMoveWarning: the Application has another cluster, or another namespace on its cluster, and the earlier
	// target still has the Application. The message says what Towline waits for.
	ConditionMoveWarning = "MoveWarning"

	// ConditionDeletionWarning: the deletion of the Application runs. The message has the start of the deletion, the
	// cluster that Towline waits for, and an operation that has to end first.
	ConditionDeletionWarning = "DeletionWarning"

	// ConditionRefreshWarning: a user asked for a refresh, or the Application has changed, and the cluster has not
	// compared the Application with Git in time. The condition goes after the comparison. Written by the propagation
	// controller.
	ConditionRefreshWarning = "RefreshTimeoutWarning"

	// ConditionEditedWarning: a program on the cluster edits the Application again and again, and Towline sets the edits
	// back. The message has the number of edits, and the command that finds the cause. The condition goes ten minutes
	// after the last edit. Written by the propagation controller.
	ConditionEditedWarning = "EditedOnClusterWarning"

	// ConditionWorkApplyError: the cluster's work agent could not apply the Application. The message comes from the
	// agent. Written by the status controller.
	ConditionWorkApplyError = "ManifestWorkApplyError"

	// ConditionWorkAvailableWarning: the work agent applied the Application, but no longer finds the Application on the
	// cluster. The message comes from the agent. Written by the status controller.
	ConditionWorkAvailableWarning = "ManifestWorkAvailableWarning"

	// ConditionClusterUnreachableWarning: the cluster is not available. The rest of the status is from the last report
	// of the cluster. The message has the time and the reason. Written by the status controller.
	ConditionClusterUnreachableWarning = "ClusterUnreachableWarning"
)

// ConditionDependencyError is on a hub Application if a dependency was not sent, or the cluster refused a dependency:
// the AppProject, a credential, or an object from the annotation apps.open-cluster-management.io/with. The message has
// the remedy. Written by the dependencies controller.
const ConditionDependencyError = "DependencyError"

// ConditionPlacementWarning is on a hub Application that follows a Placement (annotation
// apps.open-cluster-management.io/placement), if the Placement has chosen no cluster, or more than one. The message has
// the remedy. Written by the placement controller.
const ConditionPlacementWarning = "PlacementWarning"

// ConditionOperationError is on a row of a report if the last operation or its last attempt failed, and no SyncError has
// the reason: Argo CD sets a SyncError only for automated syncs, after the last retry. If only ACM Search knows the
// operation, the condition is on the Application too. Written by the aggregation and status controllers.
const ConditionOperationError = "OperationError"

// ConditionHydrationError is on a hub Application, and on its row, if the source hydrator of the cluster's Argo CD could
// not render or commit the manifests. The cluster's Argo CD continues with the last hydrated manifests, and does not
// show the error itself.
const ConditionHydrationError = "HydrationError"

// ConditionResourcesDegraded is on a hub Application that is Degraded, and on its row. The message names the degraded
// resources and the reasons. Written by the status and aggregation controllers from the resources that a source reports.
const ConditionResourcesDegraded = "ResourcesDegradedWarning"

// Conditions that tell how old is what the status says. Written by the status controller.
const (
	// ConditionNotCompared: the cluster's Argo CD has stopped comparing the Application with Git. The message has the
	// time; the rest of the status is from this time.
	ConditionNotCompared = "NotComparedWarning"

	// ConditionResourcesStale: the source of the resources does not answer. The message has the time of the last answer.
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
	{Type: ConditionEditedWarning, Owner: OwnerPropagation, Row: ConditionEditedWarning, Lasts: true},
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
