package apis

// Reasons of the events on a hub Application, and of the metric towline_propagation_blocked. They are part of what
// people alert on.
const (
	// ReasonClusterAnnotationMissing: pull label, but no cluster named.
	ReasonClusterAnnotationMissing = "ClusterAnnotationMissing"
	// ReasonClusterNameInvalid: what is named cannot be the name of a ManagedCluster.
	ReasonClusterNameInvalid = "ClusterNameInvalid"
	// ReasonClusterNotFound: there is no ManagedCluster of that name.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotAccepted: the ManagedCluster has not been accepted by the hub.
	ReasonClusterNotAccepted = "ClusterNotAccepted"
	// ReasonClusterDeleting: the ManagedCluster is being deleted.
	ReasonClusterDeleting = "ClusterDeleting"
	// ReasonClusterNamespaceMissing: the ManagedCluster's namespace is not there, or is going.
	ReasonClusterNamespaceMissing = "ClusterNamespaceMissing"
	// ReasonPlaced: the Placement that the Application follows has chosen a cluster. It is no problem.
	ReasonPlaced = "Placed"
	// ReasonPlacementUnclear: that Placement has not chosen just one cluster.
	ReasonPlacementUnclear = "PlacementUnclear"
	// ReasonLocalClusterConflict: on the hub itself the work would overwrite the Application that it is made from.
	ReasonLocalClusterConflict = "LocalClusterConflict"
	// ReasonSkipReconcileMissing: the hub's own Argo CD would act on the Application too.
	ReasonSkipReconcileMissing = "SkipReconcileMissing"
	// ReasonNamespaceInvalid: what is named cannot be a namespace on the cluster.
	ReasonNamespaceInvalid = "NamespaceInvalid"
	// ReasonAnnotationInvalid: an annotation says none of what it can say.
	ReasonAnnotationInvalid = "AnnotationInvalid"
	// ReasonSpecInvalid: the spec or its destination is no JSON object.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonOperationInvalid: the requested operation is no JSON object of the expected shape, or asks for nothing.
	ReasonOperationInvalid = "OperationInvalid"

	// ReasonOperationWithdrawn: the requested operation was sent to a cluster that the Application leaves, and is taken off.
	ReasonOperationWithdrawn = "OperationWithdrawn"
	// ReasonPayloadTooLarge: the Application does not fit into a ManifestWork.
	ReasonPayloadTooLarge = "PayloadTooLarge"
	// ReasonTargetConflict: another Application has the same namespace and name on the same cluster.
	ReasonTargetConflict = "TargetConflict"
	// ReasonWorkConflict: the work's name is taken by a ManifestWork that is not this Application's.
	ReasonWorkConflict = "WorkConflict"
	// ReasonAdoptionRefused: the cluster has an Application of that namespace and name already, which is not to be taken over.
	ReasonAdoptionRefused = "AdoptionRefused"
	// ReasonWorkRejected: the hub's API server refused the ManifestWork.
	ReasonWorkRejected = "WorkRejected"

	// ReasonHeldInOutage: the deletion waits, since an outage has taken the cluster from its Placement. It is no problem.
	ReasonHeldInOutage = "HeldInOutage"
	// ReasonOutageOver: the outage is over, and the ApplicationSet makes the Application anew. It is no problem.
	ReasonOutageOver = "OutageOver"

	// ReasonExecutorInvalid: the AppProject names an executor that is no ServiceAccount.
	ReasonExecutorInvalid = "ExecutorInvalid"

	// ReasonClusterForbidden: the Application's namespace has not been given the cluster.
	ReasonClusterForbidden = "ClusterForbidden"
	// ReasonNamespaceForbidden: the Application may not have that namespace on its cluster.
	ReasonNamespaceForbidden = "NamespaceForbidden"
	// ReasonProjectNotFound: the Application's AppProject does not exist.
	ReasonProjectNotFound = "ProjectNotFound"
	// ReasonProjectForbidden: the AppProject is not for Applications of that namespace.
	ReasonProjectForbidden = "ProjectForbidden"
	// ReasonSourceForbidden: the AppProject does not permit a repository that the Application names.
	ReasonSourceForbidden = "SourceForbidden"
	// ReasonManifestsForbidden: the requested operation brings manifests of its own, in place of those in a repository.
	ReasonManifestsForbidden = "ManifestsForbidden"
	// ReasonDestinationForbidden: the AppProject does not permit the namespace that the Application deploys to, or the
	// cluster.
	ReasonDestinationForbidden = "DestinationForbidden"

	// ReasonPaused: the annotation that pauses is on the Application, its ApplicationSet or its cluster's namespace.
	ReasonPaused = "Paused"
	// ReasonReleasing: the cluster has been asked to release the Application and leave it running.
	ReasonReleasing = "Releasing"
	// ReasonReleased: the cluster has released the Application.
	ReasonReleased = "Released"
	// ReasonMoving: the Application's target has changed, and an earlier one still has it.
	ReasonMoving = "Moving"
	// ReasonDeleting: the Application is being deleted, and its cluster still has it.
	ReasonDeleting = "Deleting"
	// ReasonDeletedUnconfirmed: the hub's Application was deleted though its cluster may still have what it deployed.
	ReasonDeletedUnconfirmed = "DeletedUnconfirmed"

	// ReasonRevoked: the Application lost the right to be on a cluster, which was asked to remove it.
	ReasonRevoked = "Revoked"
	// ReasonRevocationHeld: the Application lost the right to be on a cluster, which keeps it, since too many did at a time.
	ReasonRevocationHeld = "RevocationHeld"
	// ReasonOrphaned: the hub has lost the Application of a ManifestWork, which is kept. The event is on the work.
	ReasonOrphaned = "Orphaned"
	// ReasonLeftByOutage: an Application that an outage had held is not made anew, and what it deployed stays without an owner. The event is
	// on the work, which goes.
	ReasonLeftByOutage = "LeftByOutage"
	// ReasonRemovalRefused: an Application is gone, and its end on its cluster would destroy what it deployed and is to
	// stay. The event is on the work, which is kept.
	ReasonRemovalRefused = "RemovalRefused"

	// ReasonPropagated: the ManifestWork has been created.
	ReasonPropagated = "Propagated"
	// ReasonWorkDeleted: the deletion of the ManifestWork has been asked for.
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
	// ReasonNotCompared: of some Applications the Argo CD of their cluster has not looked for long.
	ReasonNotCompared = "NotCompared"
	// ReasonNotSynced: some Applications do not run what is in Git.
	ReasonNotSynced = "NotSynced"
	// ReasonNotHealthy: some Applications are not healthy, and not on their way to be.
	ReasonNotHealthy = "NotHealthy"
	// ReasonProgressing: some Applications are on their way to be healthy, and nothing is wrong with the others.
	ReasonProgressing = "Progressing"
	// ReasonAllShown: nothing was left out of the report.
	ReasonAllShown = "AllShown"
	// ReasonSchemaNarrow: the hub's CRD of reports is another product's, and does not have all that a report says.
	ReasonSchemaNarrow = "SchemaNarrow"
	// ReasonTruncated: the report would have become too large.
	ReasonTruncated = "Truncated"
)
