package apis

// Group is the API group of Towline's own types and the prefix of its labels and annotations.
const Group = "apps.open-cluster-management.io"

// Labels.
const (
	// LabelPull marks an Application as one to deliver through a ManifestWork. Any value that
	// strconv.ParseBool takes for true selects it. Works carry it too, always with the value "true".
	LabelPull = Group + "/pull-to-ocm-managed-cluster"

	// LabelApplicationSet is "true" on the works of an ApplicationSet's Applications, and on the
	// Application that such a work carries to its cluster.
	LabelApplicationSet = Group + "/application-set"

	// LabelApplicationSetHash is the SHA-1, in hex, of "<namespace>/<name>" of the ApplicationSet. A label
	// value holds 63 characters, which a namespace and a name together may exceed; a hash always fits.
	LabelApplicationSetHash = Group + "/application-set-hash"

	// LabelHostingApplicationSet is "<namespace>.<name>" of the ApplicationSet, on its report; a pair that does
	// not fit into a label value is shortened, with a hash.
	LabelHostingApplicationSet = Group + "/hosting-applicationset"

	// LabelLocalCluster is "true" on the ManagedCluster that is the hub itself.
	LabelLocalCluster = "local-cluster"
)

// LabelExcludedFromBackup is Velero's: an object with it, where it is "true", is in no backup.
const LabelExcludedFromBackup = "velero.io/exclude-from-backup"

// Annotations of the hub Application.
const (
	// AnnotationCluster names the ManagedCluster that the Application is delivered to.
	AnnotationCluster = Group + "/ocm-managed-cluster"

	// AnnotationAppNamespace names the Application's namespace on the managed cluster. Default: the
	// namespace of the hub Application.
	AnnotationAppNamespace = Group + "/ocm-managed-cluster-app-namespace"

	// AnnotationPlacement names a Placement in the Application's own namespace: AnnotationCluster is kept to the cluster that it has
	// chosen.
	AnnotationPlacement = Group + "/placement"

	// AnnotationRelease ends the management of an Application when it is true, and leaves everything on the cluster.
	AnnotationRelease = Group + "/release"

	// AnnotationPaused, true on an Application, an ApplicationSet or the namespace of a managed cluster on the hub, stops
	// all writing of works for it. What the cluster reports is still shown.
	AnnotationPaused = Group + "/paused"

	// AnnotationForceDelete lets an Application that is being deleted go without waiting for its cluster when it is
	// true.
	AnnotationForceDelete = Group + "/force-delete"

	// AnnotationDeleteOnOutage, true on an Application that its ApplicationSet deletes because its Placement has dropped a cluster
	// that is not available, has the Application go from that cluster all the same. Otherwise the outage is waited for.
	AnnotationDeleteOnOutage = Group + "/delete-on-outage"

	// AnnotationMoveOrder says which comes first when the target changes: MoveNewFirst or MoveOldFirst.
	AnnotationMoveOrder = Group + "/move-order"

	// AnnotationAdopt says what becomes of an Application that is on the cluster already: AdoptNever, AdoptMatching or
	// AdoptAlways.
	AnnotationAdopt = Group + "/adopt"

	// AnnotationSkipReconcile is Argo CD's: "true" keeps the hub's own application controller off it.
	AnnotationSkipReconcile = "argocd.argoproj.io/skip-reconcile"

	// AnnotationSetRefresh is Argo CD's request on an ApplicationSet to look again. Argo CD takes it off when it has (2.6 and later).
	AnnotationSetRefresh = "argocd.argoproj.io/application-set-refresh"

	// AnnotationRefresh is Argo CD's request to compare again: "hard", or any other value for a normal one.
	AnnotationRefresh = "argocd.argoproj.io/refresh"
)

// RefreshSpecChanged is the value of AnnotationRefresh by which Towline itself asks: what the Application deploys has changed on
// the hub, and its cluster has not compared that yet. Argo CD takes it for a normal refresh.
const RefreshSpecChanged = "spec-changed"

// ChangedUncompared begins AnnotationChangedAt while the cluster has not compared the change.
const ChangedUncompared = "uncompared"

// AnnotationKeepReport, true on a MulticlusterApplicationSetReport, says that the report is in Git: an Argo CD counts its health.
// Towline fills it also while its ApplicationSet has no Applications, and does not delete it.
const AnnotationKeepReport = Group + "/keep-report"

// AnnotationServer is on the namespace of a managed cluster on the hub: the address by which AppProjects and the hub's Argo
// CD know the cluster. The cluster may write whatever it likes to its ManagedCluster, and nothing to that namespace.
const AnnotationServer = Group + "/server"

// Annotations of the ManifestWork. A cluster's agent may rewrite all of them: they tell people and older
// controllers where a work comes from, and give Towline a hint whom to look at, never a proof.
const (
	// AnnotationHubNamespace is the namespace of the hub Application.
	AnnotationHubNamespace = Group + "/hub-application-namespace"

	// AnnotationHubName is the name of the hub Application.
	AnnotationHubName = Group + "/hub-application-name"

	// AnnotationOrphanedAt is when Towline found that the hub has lost the Application, as after the restore of an old
	// backup: the work is kept until the Application is there again, or someone decides.
	AnnotationOrphanedAt = Group + "/orphaned-at"

	// AnnotationOrphaned is what becomes of a work whose Application the hub does not have, in one of the words of
	// --after-restore: a person decides so for one work. Towline itself writes "delete" where the end was told of and
	// the work has to wait for its cluster, so that a restart does not take it for a loss.
	AnnotationOrphaned = Group + "/orphaned"

	// AnnotationReturnsBy is on a work whose Application ended on the hub by an outage that is over: until then its ApplicationSet
	// is expected to have made the Application anew, and the work stays as it is. A time (RFC 3339).
	AnnotationReturnsBy = Group + "/returns-by"

	// AnnotationGrantedBy is the name of the ManagedClusterSetBinding, in the Application's namespace, by which the
	// Application came to its cluster. It is there with --on-revocation=delete only, which asks that binding whether it was
	// the one to say no.
	AnnotationGrantedBy = Group + "/granted-by"

	// AnnotationMadeAnew is on a work that was made for an Application which a cluster had reported on before: when it was
	// made. What an earlier work of its name has brought may be there still.
	AnnotationMadeAnew = Group + "/made-anew"

	// AnnotationBroughtProjects names the AppProjects, as "<namespace>/<name>" and with commas between them, that an older pull
	// controller sent to the cluster with this work. The hub's AppProjects may take their place there.
	AnnotationBroughtProjects = Group + "/brought-appprojects"

	// AnnotationUpdateMode is how Towline has the work applied: ForceApply, Apply, ReadOnly or CreateOnly. An older pull controller
	// whose pull model is disabled sets every work to ReadOnly at its start, and the work goes back to what it was by this.
	AnnotationUpdateMode = Group + "/update-mode"

	// AnnotationApplicationSet is "<namespace>/<name>" of the ApplicationSet that made the Application.
	AnnotationApplicationSet = Group + "/hosting-applicationset"
)

// Marks of the Application on its cluster, by which the agent there finds it and tells the hub of it. Anyone on the
// cluster may copy them: the agent believes the ManifestWork on the hub, not the marks.
const (
	// LabelPulled is "true" on the Application that a ManifestWork carries.
	LabelPulled = Group + "/pulled"

	// AnnotationWork is the name of that ManifestWork, which a label may be too short for.
	AnnotationWork = Group + "/manifestwork"

	// AnnotationFinalizersDropped is on an Application that is to go from its cluster: which change of its work gave it its
	// last finalizers, or none. What is read of the Application with it was read after that.
	AnnotationFinalizersDropped = Group + "/finalizers-dropped"
)

// AnnotationDigest is a digest of what an ApplicationReport says, but for the time. An agent that has started anew
// tells by it what it need not write again.
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
	// AdoptNever leaves an Application alone that is on the cluster already.
	AdoptNever = "never"

	// AdoptMatching takes it over when nothing that others set there has to change for that.
	AdoptMatching = "matching"

	// AdoptAlways takes it over and makes it say what the hub says.
	AdoptAlways = "always"
)

// What relays a request from the hub to the cluster.
const (
	// OperationInfo is the name of the entry in an operation's info list that identifies it, on the hub, on its
	// way, and in the cluster's status.operationState.
	OperationInfo = Group + "/request"

	// AnnotationRequestSent is on a ManifestWork that carries an operation or its termination, until it is over: how
	// far it has come, its identity, the version of the cluster's Application that it was made for, and digests of the
	// operation and of the Application in whose place the work carries it.
	AnnotationRequestSent = Group + "/request-sent"

	// AnnotationChangedAt is on a ManifestWork from a change of what its Application deploys. It begins with ChangedUncompared until
	// the cluster has compared the change. For an ApplicationSet's Application it has, until that is synced, the revision that the
	// cluster had compared before, or those of its sources with commas between them.
	AnnotationChangedAt = Group + "/changed-at"

	// AnnotationRefreshSent is on a ManifestWork that carries a refresh: its kind, its identity, and when it was sent.
	AnnotationRefreshSent = Group + "/refresh-sent"

	// AnnotationRefreshRequest is the identity of a refresh, beside the refresh on the cluster's Application. Argo CD
	// takes AnnotationRefresh off in the write that tells of the comparison, and leaves this one: an Application that
	// has only this one has been compared since.
	AnnotationRefreshRequest = Group + "/refresh-request"
)

// Marks by which controllers of the hub know what they deployed, and what they remember of it. None of them travels: the
// same controllers on a cluster would take the marks for their own. Package argocd lists them.
const (
	// LabelInstance is Argo CD's mark of what an Application deployed, where Argo CD tracks by label: its value is the
	// name of that Application. Argo CD 2 does unless its settings say otherwise.
	LabelInstance = "app.kubernetes.io/instance"

	// LabelInstanceOfArgoCD is the label that Argo CD's documentation recommends in its place.
	LabelInstanceOfArgoCD = "argocd.argoproj.io/instance"

	// LabelInstanceLegacy is the one of Argo CD before 0.11, which some installations have kept.
	LabelInstanceLegacy = "applications.argoproj.io/app-name"

	// AnnotationTrackingID is Argo CD's mark where it tracks by annotation, as Argo CD 3 does unless its settings say
	// otherwise.
	AnnotationTrackingID = "argocd.argoproj.io/tracking-id"

	// AnnotationInstallationID tells the marks of several Argo CDs apart (2.14 and later).
	AnnotationInstallationID = "argocd.argoproj.io/installation-id"

	// LabelApplySet is the mark of `kubectl apply --prune --applyset`.
	LabelApplySet = "applyset.kubernetes.io/part-of"

	// AnnotationNotified holds what the hub's notifications controller has sent about an Application.
	AnnotationNotified = "notified.notifications.argoproj.io"

	// AnnotationHydrate asks the Argo CD that reads it to hydrate the Application's manifests anew (2.14 and later).
	AnnotationHydrate = "argocd.argoproj.io/hydrate"

	// AnnotationSpecHash is the work agent's, on what a ManifestWork brought to a hub that another hub manages.
	AnnotationSpecHash = "open-cluster-management.io/config-spec-hash"

	// AnnotationRefreshTimestamp and AnnotationHydrateTimestamp identify a request (Argo CD 3.6 and later).
	AnnotationRefreshTimestamp = "argocd.argoproj.io/refresh-timestamp"
	AnnotationHydrateTimestamp = "argocd.argoproj.io/hydrate-timestamp"
)

// Finalizers of Argo CD by which the end of an Application waits for its cluster.
const (
	// FinalizerResources asks for a cascade: what the Application deployed goes before it does. A suffix of "/background"
	// or "/foreground" picks how the cluster's garbage collector goes about it.
	FinalizerResources = "resources-finalizer.argocd.argoproj.io"

	// FinalizerPostDelete holds an Application until its post-delete hooks have run; "/cleanup" is its
	// second stage.
	FinalizerPostDelete = "post-delete-finalizer.argocd.argoproj.io"

	// FinalizerPreDelete is the same for pre-delete hooks (Argo CD 3.3 and later).
	FinalizerPreDelete = "pre-delete-finalizer.argocd.argoproj.io"
)

// InClusterServer is the address by which an Argo CD means the cluster that it runs on.
const InClusterServer = "https://kubernetes.default.svc"

// DefaultArgoCDNamespace is where Argo CD is on a hub that says nothing else.
const DefaultArgoCDNamespace = "argocd"
