package apis

// Group is the API group of Towline's own types and the prefix of its labels and annotations.
const Group = "apps.open-cluster-management.io"

// Labels.
const (
	// LabelPull marks an Application that Towline delivers through a ManifestWork. Any value that strconv.ParseBool reads as
	// true selects it. Works have this label too, always with the value "true".
	LabelPull = Group + "/pull-to-ocm-managed-cluster"

	// LabelApplicationSet is "true" on the works of an ApplicationSet's Applications, and on the
	// Application that such a work carries to its cluster.
	LabelApplicationSet = Group + "/application-set"

	// LabelApplicationSetHash is the SHA-1, in hex, of "<namespace>/<name>" of the ApplicationSet. A label
	// value holds 63 characters, which a namespace and a name together may exceed; a hash always fits.
	LabelApplicationSetHash = Group + "/application-set-hash"

	// LabelHostingApplicationSet is "<namespace>.<name>" of the ApplicationSet, on its report. A pair that does not fit into a
	// label value is shortened, with a hash.
	LabelHostingApplicationSet = Group + "/hosting-applicationset"

	// LabelLocalCluster is "true" on the ManagedCluster that is the hub itself.
	LabelLocalCluster = "local-cluster"
)

// LabelManagedBy is OpenShift GitOps's, on a Namespace: the namespace of the Argo CD that gets rights there.
const LabelManagedBy = "argocd.argoproj.io/managed-by"

// LabelExcludedFromBackup is Velero's: an object with it, where it is "true", is in no backup.
const LabelExcludedFromBackup = "velero.io/exclude-from-backup"

// Annotations of the hub Application.
const (
	// AnnotationCluster names the ManagedCluster that the Application is delivered to.
	AnnotationCluster = Group + "/ocm-managed-cluster"

	// AnnotationAppNamespace names the Application's namespace on the managed cluster. Default: the
	// namespace of the hub Application.
	AnnotationAppNamespace = Group + "/ocm-managed-cluster-app-namespace"

	// AnnotationDestinationName is the name by which the cluster's Argo CD knows the cluster that the Application deploys to.
	// Default: the Application deploys to the cluster that it arrives on.
	AnnotationDestinationName = Group + "/destination-name"

	// AnnotationDestinationServer is the address of that cluster, instead of its name.
	AnnotationDestinationServer = Group + "/destination-server"

	// AnnotationPlacement names a Placement in the Application's own namespace. Towline sets ocm-managed-cluster to the cluster
	// that the Placement has chosen.
	AnnotationPlacement = Group + "/placement"

	// AnnotationRelease ends the management of an Application if it is true. Everything stays on the cluster.
	AnnotationRelease = Group + "/release"

	// AnnotationPaused stops all writes of works if it is true on an Application, an ApplicationSet, or the namespace of a
	// managed cluster on the hub. Towline still shows what the cluster reports.
	AnnotationPaused = Group + "/paused"

	// AnnotationForceDelete ends the deletion of an Application without waiting for its cluster, if it is true.
	AnnotationForceDelete = Group + "/force-delete"

	// AnnotationDeleteOnOutage concerns an Application that its ApplicationSet deletes because its Placement has dropped a
	// cluster that is not available. If it is true, the Application is deleted from that cluster. Otherwise Towline waits for
	// the end of the outage.
	AnnotationDeleteOnOutage = Group + "/delete-on-outage"

	// AnnotationMoveOrder is the order of a move to another cluster: MoveNewFirst or MoveOldFirst.
	AnnotationMoveOrder = Group + "/move-order"

	// AnnotationAdopt says what to do with an Application that is on the cluster already: AdoptNever, AdoptMatching or
	// AdoptAlways.
	AnnotationAdopt = Group + "/adopt"

	// AnnotationSkipReconcile is Argo CD's: "true" keeps the hub's own application controller off it.
	AnnotationSkipReconcile = "argocd.argoproj.io/skip-reconcile"

	// AnnotationSetRefresh is Argo CD's request to an ApplicationSet to look again. Argo CD removes it after that (2.6 and
	// later).
	AnnotationSetRefresh = "argocd.argoproj.io/application-set-refresh"

	// AnnotationRefresh is Argo CD's request to compare again: "hard", or any other value for a normal one.
	AnnotationRefresh = "argocd.argoproj.io/refresh"
)

// RefreshSpecChanged is the value of AnnotationRefresh by which Towline itself asks: what the Application deploys has changed on
// the hub, and its cluster has not compared that yet. Argo CD takes it for a normal refresh.
const RefreshSpecChanged = "spec-changed"

// ChangedUncompared begins AnnotationChangedAt while the cluster has not compared the change.
const ChangedUncompared = "uncompared"

// AnnotationKeepReport on a MulticlusterApplicationSetReport, where it is true, says that the report is in Git: an Argo CD counts its health.
// Towline fills it also while its ApplicationSet has no Applications, and does not delete it.
const AnnotationKeepReport = Group + "/keep-report"

// AnnotationServer is on the namespace of a managed cluster on the hub: the address of the cluster in AppProjects and in
// the hub's Argo CD. The cluster may change its ManagedCluster, but not this namespace.
const AnnotationServer = Group + "/server"

// Annotations of the ManifestWork. A cluster's agent may rewrite all of them. They tell people and older controllers where a
// work comes from. For Towline they are a hint, and never a proof.
const (
	// AnnotationHubNamespace is the namespace of the hub Application.
	AnnotationHubNamespace = Group + "/hub-application-namespace"

	// AnnotationHubName is the name of the hub Application.
	AnnotationHubName = Group + "/hub-application-name"

	// AnnotationOrphanedAt is the time when Towline found that the hub has lost the Application, for example after the restore
	// of an old backup. Towline keeps the work until the Application exists again, or somebody decides.
	AnnotationOrphanedAt = Group + "/orphaned-at"

	// AnnotationOrphaned says what to do with a work whose Application the hub does not have: one of the values of
	// --after-restore. A person sets it for one work. Towline sets "delete" if it saw the deletion of the Application and the
	// work has to wait for its cluster, so that a restart does not count it as a loss.
	AnnotationOrphaned = Group + "/orphaned"

	// AnnotationReturnsBy is on a work whose Application was deleted in an outage that is over. Until this time (RFC 3339),
	// Towline expects the ApplicationSet to create the Application again, and keeps the work as it is.
	AnnotationReturnsBy = Group + "/returns-by"

	// AnnotationGrantedBy is the name of the ManagedClusterSetBinding, in the Application's namespace, that permitted the
	// cluster. Towline sets it only with --on-revocation=delete, to find out later whether this binding does not permit the
	// cluster any more.
	AnnotationGrantedBy = Group + "/granted-by"

	// AnnotationMadeAnew is on a work that was created for an Application on which a cluster had reported before: the time of
	// its creation. The cluster may still have what an earlier work of this name has brought.
	AnnotationMadeAnew = Group + "/made-anew"

	// AnnotationBroughtProjects names the AppProjects, as "<namespace>/<name>" with commas between them, that an older pull
	// controller sent to the cluster with this work. The hub's AppProjects may replace them there.
	AnnotationBroughtProjects = Group + "/brought-appprojects"

	// AnnotationUpdateMode says how the work agent applies the work: ForceApply, Apply, ReadOnly or CreateOnly. An older pull
	// controller whose pull model is disabled sets every work to ReadOnly when it starts. Towline then sets the work back to
	// this mode.
	AnnotationUpdateMode = Group + "/update-mode"

	// AnnotationApplicationSet is "<namespace>/<name>" of the ApplicationSet that made the Application.
	AnnotationApplicationSet = Group + "/hosting-applicationset"
)

// Marks of the Application on its cluster, by which the agent there finds it. Anyone on the cluster may copy them: the hub
// trusts its ManifestWork, not the marks.
const (
	// LabelPulled is "true" on the Application that a ManifestWork carries.
	LabelPulled = Group + "/pulled"

	// AnnotationWork is the name of that ManifestWork, which a label may be too short for.
	AnnotationWork = Group + "/manifestwork"

	// AnnotationFinalizersDropped is on an Application that will be removed from its cluster: the change of its work that set
	// or removed its last finalizers. What the agent reports with this annotation, it has read after that change.
	AnnotationFinalizersDropped = Group + "/finalizers-dropped"

	// AnnotationFrozen is "true" on an Application that the hub may not send to its cluster any more. The hub has switched off
	// automated sync and hydration there, and switches both on again when the Application is permitted.
	AnnotationFrozen = Group + "/frozen"
)

// AnnotationDigest is a digest of the content of an ApplicationReport, without the time. After a restart, the agent needs
// not write a report again that has the same digest.
const AnnotationDigest = Group + "/report-digest"

// AnnotationExecutor is on an AppProject of the hub: `<namespace>/<name>` of the ServiceAccount of the clusters whose
// rights the work agent needs for the project's Applications.
const AnnotationExecutor = Group + "/work-executor-service-account"

// Values of AnnotationMoveOrder.
const (
	// MoveNewFirst lets the old cluster keep the Application until it is healthy on the new one.
	MoveNewFirst = "new-first"

	// MoveOldFirst sends the Application to the new cluster when the old one has removed it.
	MoveOldFirst = "old-first"
)

// Values of AnnotationAdopt.
const (
	// AdoptNever does not touch an Application that is on the cluster already.
	AdoptNever = "never"

	// AdoptMatching takes it over if this changes no field that somebody else has set there.
	AdoptMatching = "matching"

	// AdoptAlways takes it over and makes it equal to the hub's.
	AdoptAlways = "always"
)

// What relays a request from the hub to the cluster.
const (
	// OperationInfo is the name of the entry in an operation's info list that identifies it, on the hub, on its
	// way, and in the cluster's status.operationState.
	OperationInfo = Group + "/request"

	// AnnotationRequestSent is on a ManifestWork that carries an operation or its termination, until this is over: its
	// progress, its identity, the version of the cluster's Application that it is for, and digests of the operation and of the
	// Application that the work carried before.
	AnnotationRequestSent = Group + "/request-sent"

	// AnnotationChangedAt is on a ManifestWork from a change of what its Application deploys. It begins with ChangedUncompared
	// until the cluster has compared the change. For an Application of an ApplicationSet, until it is synced, it also has the
	// revision that the cluster had compared before, or the revisions of its sources with commas between them.
	AnnotationChangedAt = Group + "/changed-at"

	// AnnotationRefreshSent is on a ManifestWork that carries a refresh: its kind, its identity, and when it was sent.
	AnnotationRefreshSent = Group + "/refresh-sent"

	// AnnotationRefreshRequest is the identity of a refresh, on the cluster's Application. Argo CD removes argocd.argoproj.io/refresh
	// when it writes the result of the comparison, and leaves this one. So an Application that has only this one has been
	// compared since.
	AnnotationRefreshRequest = Group + "/refresh-request"

	// AnnotationPayloadDigest is on the cluster's Application while its work carries a refresh: the digest of the other
	// fields of the payload. The work agent compares what it applies as printed text, in which a string looks like the
	// number or the boolean of the same characters.
	AnnotationPayloadDigest = Group + "/payload-digest"
)

// Marks by which controllers of the hub recognize what they deployed. Towline does not send them: the same controllers on a
// cluster would take the marks for their own.
const (
	// LabelInstance is Argo CD's mark on what an Application deployed, if Argo CD tracks by label: its value is the name of
	// that Application. Argo CD 2 does so by default.
	LabelInstance = "app.kubernetes.io/instance"

	// LabelInstanceOfArgoCD is the label that Argo CD's documentation recommends in its place.
	LabelInstanceOfArgoCD = "argocd.argoproj.io/instance"

	// LabelInstanceLegacy is the one of Argo CD before 0.11, which some installations have kept.
	LabelInstanceLegacy = "applications.argoproj.io/app-name"

	// AnnotationTrackingID is Argo CD's mark if it tracks by annotation, as Argo CD 3 does by default.
	AnnotationTrackingID = "argocd.argoproj.io/tracking-id"

	// AnnotationInstallationID tells the marks of several Argo CDs apart (2.14 and later).
	AnnotationInstallationID = "argocd.argoproj.io/installation-id"

	// LabelApplySet is the mark of `kubectl apply --prune --applyset`.
	LabelApplySet = "applyset.kubernetes.io/part-of"

	// AnnotationNotified holds what the hub's notifications controller has sent about an Application.
	AnnotationNotified = "notified.notifications.argoproj.io"

	// AnnotationHydrate asks the Argo CD that reads it to hydrate the Application's manifests again (2.14 and later).
	AnnotationHydrate = "argocd.argoproj.io/hydrate"

	// AnnotationSpecHash is the work agent's, on what a ManifestWork brought to a hub that another hub manages.
	AnnotationSpecHash = "open-cluster-management.io/config-spec-hash"

	// AnnotationRefreshTimestamp identifies a request to compare again (Argo CD 3.6 and later).
	AnnotationRefreshTimestamp = "argocd.argoproj.io/refresh-timestamp"

	// AnnotationHydrateTimestamp identifies a request to hydrate again (Argo CD 3.6 and later).
	AnnotationHydrateTimestamp = "argocd.argoproj.io/hydrate-timestamp"
)

// Finalizers of Argo CD with which the deletion of an Application waits for its cluster.
const (
	// FinalizerResources asks for a cascade: what the Application deployed is deleted before the Application. A suffix of
	// "/background" or "/foreground" chooses how the cluster's garbage collector deletes it.
	FinalizerResources = "resources-finalizer.argocd.argoproj.io"

	// FinalizerPostDelete keeps an Application until its post-delete hooks have run; "/cleanup" is its second stage.
	FinalizerPostDelete = "post-delete-finalizer.argocd.argoproj.io"

	// FinalizerPreDelete is the same for pre-delete hooks (Argo CD 3.3 and later).
	FinalizerPreDelete = "pre-delete-finalizer.argocd.argoproj.io"
)

// InClusterServer is the address by which an Argo CD means the cluster that it runs on.
const InClusterServer = "https://kubernetes.default.svc"

// InClusterName is the name by which an Argo CD means the cluster that it runs on.
const InClusterName = "in-cluster"

// DefaultArgoCDNamespace is where Argo CD is on a hub that says nothing else.
const DefaultArgoCDNamespace = "argocd"
