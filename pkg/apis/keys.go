package apis

// Group is the API group of Towline's own types and the prefix of its labels and annotations.
const Group = "apps.open-cluster-management.io"

// Labels.
const (
	// LabelPull marks an Application for delivery by Towline. The values for true are 1, t, T, true,
	// TRUE and True. Works also have the label, always with the value "true".
	LabelPull = Group + "/pull-to-ocm-managed-cluster"

	// LabelApplicationSet is "true" on the works of an ApplicationSet's Applications, and on the Applications in the
	// works.
	LabelApplicationSet = Group + "/application-set"

	// LabelApplicationSetHash is the SHA-1, in hex, of "<namespace>/<name>" of the ApplicationSet. A label value holds
	// only 63 characters, and a hash always fits.
	LabelApplicationSetHash = Group + "/application-set-hash"

	// LabelEditSeen is on a ManifestWork after the first edit of the Application on the cluster: the number of edits in
	// succession, the time of the last repair, and the mark of the last edit. A change of a label makes the work agent
	// apply the work at once.
	LabelEditSeen = Group + "/edit-seen"

	// LabelHostingApplicationSet is "<namespace>.<name>" of the ApplicationSet, on the report. Towline shortens a value
	// of more than 63 characters, and adds a hash.
	LabelHostingApplicationSet = Group + "/hosting-applicationset"

	// LabelLocalCluster is "true" on the hub's own ManagedCluster.
	LabelLocalCluster = "local-cluster"
)

// LabelManagedBy is a label of OpenShift GitOps on a Namespace: the namespace of the Argo CD with rights in the
// labelled Namespace.
const LabelManagedBy = "argocd.argoproj.io/managed-by"

// LabelExcludedFromBackup is a label of Velero: an object with the value "true" is in no backup.
const LabelExcludedFromBackup = "velero.io/exclude-from-backup"

// Annotations of the hub Application.
const (
	// AnnotationCluster names the ManagedCluster of the Application.
	AnnotationCluster = Group + "/ocm-managed-cluster"

	// AnnotationAppNamespace names the Application's namespace on the managed cluster. Default: the namespace of the hub
	// Application.
	AnnotationAppNamespace = Group + "/ocm-managed-cluster-app-namespace"

	// AnnotationDestinationName is the name of the destination cluster in the Argo CD of the managed cluster. Default:
	// the managed cluster.
	AnnotationDestinationName = Group + "/destination-name"

	// AnnotationDestinationServer is the address of the destination cluster, instead of the name.
	AnnotationDestinationServer = Group + "/destination-server"

	// AnnotationPlacement names a Placement in the Application's own namespace. Towline sets the annotation
	// ocm-managed-cluster to the cluster chosen by the Placement.
	AnnotationPlacement = Group + "/placement"

	// AnnotationRelease ends the management of an Application if the value is true. All objects stay on the cluster.
	AnnotationRelease = Group + "/release"

	// AnnotationPaused stops all writes of works if the value is true on an Application, an ApplicationSet, or the
	// namespace of a managed cluster on the hub. Towline still shows the reports of the cluster.
	AnnotationPaused = Group + "/paused"

	// AnnotationForceDelete ends the deletion of an Application without a wait for the cluster, if the value is true.
	AnnotationForceDelete = Group + "/force-delete"

	// AnnotationDeleteOnOutage concerns an Application deleted by the ApplicationSet because the Placement has dropped
	// an unavailable cluster. If the value is true, the cluster removes the Application. Otherwise Towline waits for the
	// end of the outage.
	AnnotationDeleteOnOutage = Group + "/delete-on-outage"

	// AnnotationMoveOrder is the order of a move to a new cluster: "new-first" or "old-first".
	AnnotationMoveOrder = Group + "/move-order"

	// AnnotationAdopt decides about an existing Application on the cluster: "never", "matching" or "always".
	AnnotationAdopt = Group + "/adopt"

	// AnnotationSkipReconcile is an annotation of Argo CD: with "true", the hub's own application controller skips the
	// Application.
	AnnotationSkipReconcile = "argocd.argoproj.io/skip-reconcile"

	// AnnotationSetRefresh is Argo CD's request to an ApplicationSet to generate again. Argo CD removes the annotation
	// afterwards (2.6 and later).
	AnnotationSetRefresh = "argocd.argoproj.io/application-set-refresh"

	// AnnotationRefresh is Argo CD's request to compare an Application again: "hard", or any further value for a normal
	// refresh.
	AnnotationRefresh = "argocd.argoproj.io/refresh"
)

// RefreshSpecChanged is the value of AnnotationRefresh for a request by Towline: the deployed content of the Application has
// changed on the hub, and the cluster has not compared the change yet. Argo CD handles the value as a normal refresh.
const RefreshSpecChanged = "spec-changed"

// ChangedUncompared begins AnnotationChangedAt while the cluster has not compared the change.
const ChangedUncompared = "uncompared"

// AnnotationSource is on a hub Application: "hub" or "direct". With "hub", the cluster reads the Application's
// repositories through the hub, without a route to Git. The annotation of the same key on the namespace of the cluster
// on the hub chooses for all other Applications of the cluster: every value but "direct" counts as "hub". Without both
// annotations, the label of the same key on the ManagedCluster chooses. Default: "direct".
const AnnotationSource = Group + "/source"

// Values of AnnotationSource.
const (
	// SourceHub lets the cluster read the repositories through the hub.
	SourceHub = "hub"

	// SourceDirect lets the cluster read the repositories from the Git server.
	SourceDirect = "direct"
)

// AnnotationSourceAddress is on the namespace of a managed cluster on the hub: the https address of Towline's agent for
// the cluster's Argo CD. Default: DefaultSourceAddress.
const AnnotationSourceAddress = Group + "/source-address"

// DefaultSourceAddress is the address of the Service of Towline's agent on a cluster.
const DefaultSourceAddress = "https://towline-source.open-cluster-management-agent-addon.svc"

// AnnotationKeepReport is true on a MulticlusterApplicationSetReport in Git, for an Argo CD that shows the health of the
// report. Towline fills the report also while the ApplicationSet has no Applications, and does not delete the report.
const AnnotationKeepReport = Group + "/keep-report"

// AnnotationServer is on the namespace of a managed cluster on the hub: the address of the cluster in AppProjects and in
// the hub's Argo CD. The cluster may change the ManagedCluster, but not the namespace.
const AnnotationServer = Group + "/server"

// Annotations of the ManifestWork. A cluster's agent may rewrite all annotations. The annotations tell people and older
// controllers the origin of a work. For Towline, the annotations are a hint, and never a proof.
const (
	// AnnotationHubNamespace is the namespace of the hub Application.
	AnnotationHubNamespace = Group + "/hub-application-namespace"

	// AnnotationHubName is the name of the hub Application.
	AnnotationHubName = Group + "/hub-application-name"

	// AnnotationOrphanedAt is the time when Towline found the loss of the Application on the hub, for example by the
	// restore of an old backup. Towline keeps the work until the Application exists again, or a person decides.
	AnnotationOrphanedAt = Group + "/orphaned-at"

	// AnnotationOrphaned is the decision about a work without an Application on the hub: a value of --after-restore. A
	// person sets the annotation for a single work. Towline sets "delete" for a work that waits for the cluster after an
	// observed deletion. After a restart, Towline does not count the work as a loss.
	AnnotationOrphaned = Group + "/orphaned"

	// AnnotationReturnsBy is on a work of an Application deleted in a past outage. Until the time in the value (RFC
	// 3339), Towline expects the ApplicationSet to create the Application again, and does not change the work.
	AnnotationReturnsBy = Group + "/returns-by"

	// AnnotationHandedOver is on a work of an Application that is leaving the cluster, because the hub's own Argo CD deploys the
	// workload from now on. The workload and the dependencies stay on the cluster.
	AnnotationHandedOver = Group + "/handed-over"

	// AnnotationGrantedBy is the name of the ManagedClusterSetBinding, in the Application's namespace, with the permission
	// for the cluster. Towline sets the annotation only with --on-revocation=delete, to notice the loss of the permission
	// later.
	AnnotationGrantedBy = Group + "/granted-by"

	// AnnotationRecreated is the creation time of a work for an Application with an earlier report from a cluster. The
	// cluster may still have the objects of an earlier work of the same name.
	AnnotationRecreated = Group + "/made-anew"

	// AnnotationBroughtProjects names the AppProjects sent to the cluster with the work by an older pull controller, as
	// "<namespace>/<name>" with commas in between. The hub's AppProjects may replace these AppProjects on the cluster.
	AnnotationBroughtProjects = Group + "/brought-appprojects"

	// AnnotationUpdateMode is how the work agent applies the work: "ForceApply", "Apply", "ReadOnly" or "CreateOnly". At
	// the start, an older pull controller with a disabled pull model sets every work to "ReadOnly". Towline then
	// restores the mode.
	AnnotationUpdateMode = Group + "/update-mode"

	// AnnotationSources names the repositories that the cluster reads through the hub for the Application, with commas
	// in between: see source.WriteNames. towline-source serves a repository only while the work of an Application names the
	// repository.
	AnnotationSources = Group + "/source-names"

	// AnnotationApplicationSet is "<namespace>/<name>" of the Application's ApplicationSet.
	AnnotationApplicationSet = Group + "/hosting-applicationset"
)

// Marks of the Application on the cluster. The cluster's agent finds the Application by the marks. Every user of the
// cluster may copy the marks: the hub trusts the ManifestWork, not the marks.
const (
	// LabelPulled is "true" on the Application in a ManifestWork.
	LabelPulled = Group + "/pulled"

	// AnnotationWork is the name of the Application's ManifestWork. A label would be too short for some
	// names.
	AnnotationWork = Group + "/manifestwork"

	// AnnotationFinalizersDropped is on an Application before the removal from the cluster: the last change of finalizers in
	// the work. A report of the agent with the annotation is from after the change.
	AnnotationFinalizersDropped = Group + "/finalizers-dropped"

	// AnnotationFrozen is "true" on an Application that the hub may no longer send to the cluster. The hub has switched
	// off automated sync and hydration on the cluster, and switches both on again when the Application is permitted.
	AnnotationFrozen = Group + "/frozen"
)

// AnnotationDigest is a digest of the content of an ApplicationReport, without the time. After a restart, the agent does
// not write a report again if the digest is the same.
const AnnotationDigest = Group + "/report-digest"

// AnnotationExecutor is on an AppProject of the hub: "<namespace>/<name>" of a ServiceAccount of the clusters. The work
// agent needs the rights of the account to apply the project's Applications.
const AnnotationExecutor = Group + "/work-executor-service-account"

// Values of AnnotationMoveOrder.
const (
	// MoveNewFirst lets the old cluster keep the Application until the Application is healthy on the new cluster.
	MoveNewFirst = "new-first"

	// MoveOldFirst sends the Application to the new cluster when the old cluster has removed the Application.
	MoveOldFirst = "old-first"
)

// Values of AnnotationAdopt.
const (
	// AdoptNever does not touch an existing Application on the cluster.
	AdoptNever = "never"

	// AdoptMatching takes over an existing Application if the take-over changes no field of a different writer.
	AdoptMatching = "matching"

	// AdoptAlways takes over an existing Application, and makes the Application equal to the hub Application.
	AdoptAlways = "always"
)

// Marks of requests from the hub to the cluster.
const (
	// OperationInfo is the name of the entry with the operation's identity in the info list of an operation: on the hub,
	// in the ManifestWork, and in the cluster's status.operationState.
	OperationInfo = Group + "/request"

	// AnnotationRequestSent is on a ManifestWork with an operation, or with the termination of an operation, until the end
	// of the request. The value has the progress, the identity, the version of the cluster's Application that the request is
	// for, and digests of the operation and of the Application in the work before.
	AnnotationRequestSent = Group + "/request-sent"

	// AnnotationReplaced is on a ManifestWork with an operation, or with the termination of an operation: the Application
	// that the request has replaced in the work, as gzip data in base64 of at most 40 KiB. If the Application loses the
	// right to the cluster before the cluster's answer, a freeze puts the Application back without automated sync.
	AnnotationReplaced = Group + "/replaced-application"

	// AnnotationChangedAt is on a ManifestWork after a change of the deployed content of the Application. The value
	// begins with "uncompared" until the cluster has compared the change. For an Application of an ApplicationSet, the
	// value also has the previously compared revision until the next sync, or the revisions of all sources with commas
	// in between.
	AnnotationChangedAt = Group + "/changed-at"

	// AnnotationRefreshSent is on a ManifestWork with a refresh: the kind, the identity, and the time of the refresh.
	AnnotationRefreshSent = Group + "/refresh-sent"

	// AnnotationRefreshRequest is the identity of a refresh, on the cluster's Application. When Argo CD writes the
	// result of the comparison, Argo CD removes argocd.argoproj.io/refresh and keeps refresh-request. An Application
	// with refresh-request only has therefore been compared since the request.
	AnnotationRefreshRequest = Group + "/refresh-request"

	// AnnotationPayloadDigest is on the cluster's Application while the work has a refresh: the digest of the remaining
	// fields of the payload. The work agent compares applied objects as printed text. In printed text, a string and a
	// number of the same characters look equal.
	AnnotationPayloadDigest = Group + "/payload-digest"

	// AnnotationFields is on the cluster's Application: the number of fields set by the work. After an edit on the
	// cluster, the work agent owns fewer fields.
	AnnotationFields = Group + "/fields"
)

// Marks of the hub's controllers on deployed objects. Towline does not send the marks: controllers of the same kind on a
// cluster would take the objects for their own.
const (
	// LabelInstance is Argo CD's mark on the deployed objects of an Application, with the name of the Application, if
	// Argo CD tracks by label. Argo CD 2 tracks by label by default.
	LabelInstance = "app.kubernetes.io/instance"

	// LabelInstanceOfArgoCD is the tracking label recommended by Argo CD's documentation in place of
	// app.kubernetes.io/instance.
	LabelInstanceOfArgoCD = "argocd.argoproj.io/instance"

	// LabelInstanceLegacy is the tracking label of Argo CD before 0.11. Some installations have kept the label.
	LabelInstanceLegacy = "applications.argoproj.io/app-name"

	// AnnotationTrackingID is Argo CD's mark on deployed objects if Argo CD tracks by annotation, the default of Argo CD
	// 3.
	AnnotationTrackingID = "argocd.argoproj.io/tracking-id"

	// AnnotationInstallationID distinguishes the marks of several Argo CDs (2.14 and later).
	AnnotationInstallationID = "argocd.argoproj.io/installation-id"

	// LabelApplySet is the mark of `kubectl apply --prune --applyset`.
	LabelApplySet = "applyset.kubernetes.io/part-of"

	// AnnotationNotified lists the notifications about an Application sent by the hub's notifications controller.
	AnnotationNotified = "notified.notifications.argoproj.io"

	// AnnotationHydrate is a request to Argo CD to hydrate the Application's manifests again (2.14 and later).
	AnnotationHydrate = "argocd.argoproj.io/hydrate"

	// AnnotationSpecHash is an annotation of the work agent, on objects of a ManifestWork on a hub under the
	// management of a second hub.
	AnnotationSpecHash = "open-cluster-management.io/config-spec-hash"

	// AnnotationRefreshTimestamp identifies a request to compare again (Argo CD 3.6 and later).
	AnnotationRefreshTimestamp = "argocd.argoproj.io/refresh-timestamp"

	// AnnotationHydrateTimestamp identifies a request to hydrate again (Argo CD 3.6 and later).
	AnnotationHydrateTimestamp = "argocd.argoproj.io/hydrate-timestamp"
)

// Finalizers of Argo CD. With these finalizers, the deletion of an Application waits for the cluster.
const (
	// FinalizerResources asks for a cascade: Argo CD deletes the deployed resources before the Application. A suffix of
	// "/background" or "/foreground" chooses the deletion mode of the cluster's garbage collector.
	FinalizerResources = "resources-finalizer.argocd.argoproj.io"

	// FinalizerPostDelete keeps an Application until the post-delete hooks have run; "/cleanup" is the second stage.
	FinalizerPostDelete = "post-delete-finalizer.argocd.argoproj.io"

	// FinalizerPreDelete is the same for pre-delete hooks (Argo CD 3.3 and later).
	FinalizerPreDelete = "pre-delete-finalizer.argocd.argoproj.io"
)

// InClusterServer is the address of Argo CD's own cluster in Argo CD.
const InClusterServer = "https://kubernetes.default.svc"

// InClusterName is the name of Argo CD's own cluster in Argo CD.
const InClusterName = "in-cluster"

// DefaultArgoCDNamespace is the default namespace of Argo CD on a hub.
const DefaultArgoCDNamespace = "argocd"
