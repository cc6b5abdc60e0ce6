package apis

// Reasons of the events on a hub Application, and of the metric towline_propagation_blocked. They are part of what
// people alert on.
const (
	// ReasonClusterAnnotationMissing: the Application has the pull label, but names no cluster.
	ReasonClusterAnnotationMissing = "ClusterAnnotationMissing"
	// ReasonClusterNameInvalid: the value of the cluster annotation is not a valid name of a ManagedCluster.
	ReasonClusterNameInvalid = "ClusterNameInvalid"
	// ReasonClusterNotFound: no ManagedCluster has this name.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotAccepted: the ManagedCluster has not been accepted by the hub.
	ReasonClusterNotAccepted = "ClusterNotAccepted"
	// ReasonClusterDeleting: the ManagedCluster is being deleted.
	ReasonClusterDeleting = "ClusterDeleting"
	// ReasonClusterNamespaceMissing: the namespace of the ManagedCluster does not exist, or is being deleted.
	ReasonClusterNamespaceMissing = "ClusterNamespaceMissing"
	// ReasonPlaced: the Placement of the Application has chosen a cluster. No problem.
	ReasonPlaced = "Placed"
	// ReasonPlacementUnclear: the Placement of the Application has chosen no cluster, or more than one.
	ReasonPlacementUnclear = "PlacementUnclear"
	// ReasonLocalClusterConflict: the cluster is the hub itself, where the ManifestWork would overwrite the hub Application.
	ReasonLocalClusterConflict = "LocalClusterConflict"
	// ReasonSkipReconcileMissing: the annotation that keeps the hub's own Argo CD from deploying the Application is missing.
	ReasonSkipReconcileMissing = "SkipReconcileMissing"
	// ReasonNamespaceInvalid: the Application's namespace on its cluster is not a valid name.
	ReasonNamespaceInvalid = "NamespaceInvalid"
	// ReasonAnnotationInvalid: an annotation has a value unknown to Towline.
	ReasonAnnotationInvalid = "AnnotationInvalid"
	// ReasonSpecInvalid: the spec or its destination is not a JSON object.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonSourceUnsupported: a source cannot come to the cluster through the hub.
	ReasonSourceUnsupported = "SourceUnsupported"
	// ReasonOperationInvalid: the requested operation is not readable, or empty.
	ReasonOperationInvalid = "OperationInvalid"

	// ReasonOperationWithdrawn: a ManifestWork in deletion has sent the requested operation. Towline removes
	// the operation.
	ReasonOperationWithdrawn = "OperationWithdrawn"
	// ReasonPayloadTooLarge: the Application is too large for a ManifestWork.
	ReasonPayloadTooLarge = "PayloadTooLarge"
	// ReasonTargetConflict: a second Application has the same namespace and name on the same cluster.
	ReasonTargetConflict = "TargetConflict"
	// ReasonWorkConflict: a foreign ManifestWork has the name of the Application's work.
	ReasonWorkConflict = "WorkConflict"
	// ReasonHubOperationRunning: the hub's own Argo CD has begun a sync of the Application, and has not ended it.
	ReasonHubOperationRunning = "HubOperationRunning"
	// ReasonDestinationConflict: the ManifestWork of an older controller sends the Application to a different destination.
	ReasonDestinationConflict = "DestinationConflict"
	// ReasonAdoptionRefused: the cluster already has an Application of the same namespace and name, and Towline may not
	// take over this Application.
	ReasonAdoptionRefused = "AdoptionRefused"
	// ReasonWorkRejected: the hub's API server refused the ManifestWork, or has failed to write the ManifestWork for
	// more than five seconds.
	ReasonWorkRejected = "WorkRejected"

	// ReasonHeldInOutage: the deletion waits, because the Placement dropped the cluster in an outage. No problem.
	ReasonHeldInOutage = "HeldInOutage"
	// ReasonOutageOver: the outage is over, and the ApplicationSet creates the Application again. No problem.
	ReasonOutageOver = "OutageOver"

	// ReasonExecutorInvalid: the executor of the AppProject is not a ServiceAccount.
	ReasonExecutorInvalid = "ExecutorInvalid"

	// ReasonClusterForbidden: no binding permits the cluster to the namespace of the Application.
	ReasonClusterForbidden = "ClusterForbidden"
	// ReasonNamespaceForbidden: the Application may not use this namespace on its cluster.
	ReasonNamespaceForbidden = "NamespaceForbidden"
	// ReasonProjectNotFound: the Application's AppProject does not exist.
	ReasonProjectNotFound = "ProjectNotFound"
	// ReasonProjectForbidden: the AppProject does not permit Applications from the Application's namespace.
	ReasonProjectForbidden = "ProjectForbidden"
	// ReasonSourceForbidden: the AppProject does not permit a repository of the Application.
	ReasonSourceForbidden = "SourceForbidden"
	// ReasonManifestsForbidden: the requested operation contains its own manifests instead of manifests from a
	// repository.
	ReasonManifestsForbidden = "ManifestsForbidden"
	// ReasonDestinationForbidden: the AppProject does not permit the destination namespace of the Application, or the
	// cluster.
	ReasonDestinationForbidden = "DestinationForbidden"

	// ReasonPaused: an annotation on the Application, its ApplicationSet or the namespace of its cluster pauses the
	// Application.
	ReasonPaused = "Paused"
	// ReasonReleasing: Towline has told the cluster to release the Application and to leave it running.
	ReasonReleasing = "Releasing"
	// ReasonReleased: the cluster has released the Application.
	ReasonReleased = "Released"
	// ReasonMoving: the Application has a new cluster or namespace now, and the earlier target still has the
	// Application.
	ReasonMoving = "Moving"
	// ReasonDeleting: the deletion runs, and the cluster still has the Application.
	ReasonDeleting = "Deleting"
	// ReasonEditSetBack: a user of the cluster edited the Application, and Towline has the edit set back.
	ReasonEditSetBack = "EditSetBack"
	// ReasonEditedAgain: a program on the cluster edits the Application again and again.
	ReasonEditedAgain = "EditedAgain"
	// ReasonDeletedUnconfirmed: the hub Application is gone, and its workload may still be on its cluster.
	ReasonDeletedUnconfirmed = "DeletedUnconfirmed"

	// ReasonRevoked: the Application lost its right to a cluster, and Towline told the cluster to remove the
	// Application.
	ReasonRevoked = "Revoked"
	// ReasonRevocationHeld: the Application lost its right to a cluster, and stays on the cluster, because too many
	// Applications lost their right at the same time.
	ReasonRevocationHeld = "RevocationHeld"
	// ReasonOrphaned: the hub has lost the Application of a ManifestWork. Towline keeps the ManifestWork. The event is
	// on the ManifestWork.
	ReasonOrphaned = "Orphaned"
	// ReasonLeftByOutage: no ApplicationSet created the Application again after an outage had delayed its deletion. The
	// workload stays without an owner. The event is on the ManifestWork, and Towline deletes the ManifestWork.
	ReasonLeftByOutage = "LeftByOutage"
	// ReasonRemovalRefused: the Application is gone from the hub, and its removal from the cluster would destroy
	// resources that should stay. Towline keeps the ManifestWork. The event is on the ManifestWork.
	ReasonRemovalRefused = "RemovalRefused"

	// ReasonPropagated: Towline has created the ManifestWork.
	ReasonPropagated = "Propagated"
	// ReasonWorkDeleted: Towline has deleted the ManifestWork, and the cluster is removing the Application.
	ReasonWorkDeleted = "WorkDeleted"
)

// Reasons of the conditions of a report, and of the events on it.
const (
	// ReasonAllHealthy: every Application is synced and healthy.
	ReasonAllHealthy = "AllHealthy"
	// ReasonNotPropagated: Towline could not send some Applications to their cluster.
	ReasonNotPropagated = "NotPropagated"
	// ReasonClustersUnreachable: some Applications are on clusters that are not available.
	ReasonClustersUnreachable = "ClustersUnreachable"
	// ReasonNotCompared: for a long time, the Argo CD of a cluster has not compared some Applications with Git.
	ReasonNotCompared = "NotCompared"
	// ReasonNotSynced: some Applications differ from Git.
	ReasonNotSynced = "NotSynced"
	// ReasonNotHealthy: some Applications are neither healthy nor progressing.
	ReasonNotHealthy = "NotHealthy"
	// ReasonProgressing: some Applications are progressing, and the others have no problem.
	ReasonProgressing = "Progressing"
	// ReasonAllShown: the report is complete.
	ReasonAllShown = "AllShown"
	// ReasonSchemaNarrow: the hub has the CRD of reports from another product, without some fields of the report.
	ReasonSchemaNarrow = "SchemaNarrow"
	// ReasonTruncated: some rows or resources are not in the report, because the report would be too large.
	ReasonTruncated = "Truncated"
)
