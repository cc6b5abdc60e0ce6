package apis

// Reasons of the events on a hub Application, and of the metric towline_propagation_blocked. They are part of what
// people alert on.
const (
	// ReasonClusterAnnotationMissing: the Application has the pull label, but names no cluster.
	ReasonClusterAnnotationMissing = "ClusterAnnotationMissing"
	// ReasonClusterNameInvalid: the cluster that the Application names is not a valid name of a ManagedCluster.
	ReasonClusterNameInvalid = "ClusterNameInvalid"
	// ReasonClusterNotFound: there is no ManagedCluster of that name.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotAccepted: the ManagedCluster has not been accepted by the hub.
	ReasonClusterNotAccepted = "ClusterNotAccepted"
	// ReasonClusterDeleting: the ManagedCluster is being deleted.
	ReasonClusterDeleting = "ClusterDeleting"
	// ReasonClusterNamespaceMissing: the namespace of the ManagedCluster does not exist, or is being deleted.
	ReasonClusterNamespaceMissing = "ClusterNamespaceMissing"
	// ReasonPlaced: the Placement that the Application follows has chosen a cluster. Nothing is wrong.
	ReasonPlaced = "Placed"
	// ReasonPlacementUnclear: the Placement that the Application follows has chosen no cluster, or more than one.
	ReasonPlacementUnclear = "PlacementUnclear"
	// ReasonLocalClusterConflict: the cluster is the hub itself, where the ManifestWork would overwrite the hub Application.
	ReasonLocalClusterConflict = "LocalClusterConflict"
	// ReasonSkipReconcileMissing: the annotation that keeps the hub's own Argo CD from deploying the Application is missing.
	ReasonSkipReconcileMissing = "SkipReconcileMissing"
	// ReasonNamespaceInvalid: the namespace that the Application names for its cluster is not a valid name.
	ReasonNamespaceInvalid = "NamespaceInvalid"
	// ReasonAnnotationInvalid: an annotation has a value that Towline does not know.
	ReasonAnnotationInvalid = "AnnotationInvalid"
	// ReasonSpecInvalid: the spec or its destination is not a JSON object.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonOperationInvalid: the requested operation cannot be read, or asks for nothing.
	ReasonOperationInvalid = "OperationInvalid"

	// ReasonOperationWithdrawn: the requested operation was sent by a ManifestWork that is to be deleted. Towline removes the operation.
	ReasonOperationWithdrawn = "OperationWithdrawn"
	// ReasonPayloadTooLarge: the Application is too large for a ManifestWork.
	ReasonPayloadTooLarge = "PayloadTooLarge"
	// ReasonTargetConflict: another Application has the same namespace and name on the same cluster.
	ReasonTargetConflict = "TargetConflict"
	// ReasonWorkConflict: a ManifestWork with the name that Towline would use exists, and belongs to something else.
	ReasonWorkConflict = "WorkConflict"
	// ReasonDestinationConflict: the ManifestWork of an older controller sends the Application to another destination.
	ReasonDestinationConflict = "DestinationConflict"
	// ReasonAdoptionRefused: the cluster already has an Application with that namespace and name, and Towline may not take it over.
	ReasonAdoptionRefused = "AdoptionRefused"
	// ReasonWorkRejected: the hub's API server refused the ManifestWork, or has failed to write it for more than five seconds.
	ReasonWorkRejected = "WorkRejected"

	// ReasonHeldInOutage: the deletion waits: the Placement dropped the cluster because of an outage. Nothing is wrong.
	ReasonHeldInOutage = "HeldInOutage"
	// ReasonOutageOver: the outage is over, and the ApplicationSet creates the Application again. Nothing is wrong.
	ReasonOutageOver = "OutageOver"

	// ReasonExecutorInvalid: the executor that the AppProject names is not a ServiceAccount.
	ReasonExecutorInvalid = "ExecutorInvalid"

	// ReasonClusterForbidden: no binding permits the cluster to the namespace of the Application.
	ReasonClusterForbidden = "ClusterForbidden"
	// ReasonNamespaceForbidden: the Application may not use that namespace on its cluster.
	ReasonNamespaceForbidden = "NamespaceForbidden"
	// ReasonProjectNotFound: the Application's AppProject does not exist.
	ReasonProjectNotFound = "ProjectNotFound"
	// ReasonProjectForbidden: the AppProject does not permit Applications from that namespace.
	ReasonProjectForbidden = "ProjectForbidden"
	// ReasonSourceForbidden: the AppProject does not permit a repository that the Application names.
	ReasonSourceForbidden = "SourceForbidden"
	// ReasonManifestsForbidden: the requested operation contains its own manifests instead of those in a repository.
	ReasonManifestsForbidden = "ManifestsForbidden"
	// ReasonDestinationForbidden: the AppProject does not permit the namespace that the Application deploys to, or the
	// cluster.
	ReasonDestinationForbidden = "DestinationForbidden"

	// ReasonPaused: an annotation on the Application, its ApplicationSet or the namespace of its cluster pauses it.
	ReasonPaused = "Paused"
	// ReasonReleasing: the cluster has been asked to release the Application and leave it running.
	ReasonReleasing = "Releasing"
	// ReasonReleased: the cluster has released the Application.
	ReasonReleased = "Released"
	// ReasonMoving: the Application has another cluster or namespace now, and is still in the earlier one.
	ReasonMoving = "Moving"
	// ReasonDeleting: the Application is being deleted, and is still on its cluster.
	ReasonDeleting = "Deleting"
	// ReasonDeletedUnconfirmed: the hub Application was deleted, but what it deployed may still be on its cluster.
	ReasonDeletedUnconfirmed = "DeletedUnconfirmed"

	// ReasonRevoked: the Application lost the right to be on a cluster, and Towline asked the cluster to remove it.
	ReasonRevoked = "Revoked"
	// ReasonRevocationHeld: the Application lost the right to be on a cluster, but stays there, because too many Applications lost it at the same time.
	ReasonRevocationHeld = "RevocationHeld"
	// ReasonOrphaned: the hub has lost the Application of a ManifestWork. Towline keeps the ManifestWork; the event is on it.
	ReasonOrphaned = "Orphaned"
	// ReasonLeftByOutage: nobody created an Application again after an outage had held its deletion. What it deployed stays without an
	// owner. The event is on the ManifestWork, which is deleted.
	ReasonLeftByOutage = "LeftByOutage"
	// ReasonRemovalRefused: an Application is gone. To remove it from its cluster would destroy what it deployed, which should
	// stay. Towline keeps the ManifestWork; the event is on it.
	ReasonRemovalRefused = "RemovalRefused"

	// ReasonPropagated: the ManifestWork has been created.
	ReasonPropagated = "Propagated"
	// ReasonWorkDeleted: Towline has deleted the ManifestWork, and the cluster is removing the Application.
	ReasonWorkDeleted = "WorkDeleted"
)

// Reasons of the conditions of a report, and of the events on it.
const (
	// ReasonAllHealthy: every Application is synced and healthy.
	ReasonAllHealthy = "AllHealthy"
	// ReasonNotPropagated: some Applications could not be sent to their cluster.
	ReasonNotPropagated = "NotPropagated"
	// ReasonClustersUnreachable: some Applications are on clusters that are not available.
	ReasonClustersUnreachable = "ClustersUnreachable"
	// ReasonNotCompared: the Argo CD of their cluster has not compared some Applications with Git for a long time.
	ReasonNotCompared = "NotCompared"
	// ReasonNotSynced: some Applications do not run what is in Git.
	ReasonNotSynced = "NotSynced"
	// ReasonNotHealthy: some Applications are neither healthy nor progressing.
	ReasonNotHealthy = "NotHealthy"
	// ReasonProgressing: some Applications are progressing, and nothing is wrong with the others.
	ReasonProgressing = "Progressing"
	// ReasonAllShown: nothing was left out of the report.
	ReasonAllShown = "AllShown"
	// ReasonSchemaNarrow: the hub has the CRD of reports from another product, which lacks some fields of the report.
	ReasonSchemaNarrow = "SchemaNarrow"
	// ReasonTruncated: some rows or resources are not in the report, because it would be too large.
	ReasonTruncated = "Truncated"
)
