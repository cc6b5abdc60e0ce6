package apis

// Labels of an Argo CD cluster Secret. The three of ours are those of the older controllers, and consoles find the
// Secrets by them.
const (
	// LabelSecretType is Argo CD's: which kind of its Secrets this is.
	LabelSecretType = "argocd.argoproj.io/secret-type" //nolint:gosec // a label

	// SecretTypeCluster is the value of LabelSecretType on a cluster Secret.
	SecretTypeCluster = "cluster"

	// LabelImported is "true" on the Secret of a ManagedCluster.
	LabelImported = Group + "/acm-cluster"

	// LabelClusterName is the name of that ManagedCluster. The two together are what makes a Secret Towline's to
	// write: whoever has made one by hand can hand it over by setting them.
	LabelClusterName = Group + "/cluster-name"

	// LabelClusterServer is the host of the Secret's server, where it fits into a label.
	LabelClusterServer = Group + "/cluster-server"
)

// Annotations of an Argo CD cluster Secret of Towline's.
const (
	// AnnotationGitOpsClusters are the GitOpsClusters that want the Secret, "<namespace>/<name>" with commas between
	// them. It goes with the last.
	AnnotationGitOpsClusters = Group + "/gitopsclusters"

	// AnnotationClusterLabels are the keys of the labels that come from the ManagedCluster, with commas between them.
	// All others were set by somebody else and are kept.
	AnnotationClusterLabels = Group + "/labels-of-cluster"

	// AnnotationServiceAccount is the name of the ManagedServiceAccount whose token the Secret has.
	AnnotationServiceAccount = Group + "/managed-serviceaccount"
)

// AnnotationArgoNamespaces are the namespaces in which a GitOpsCluster may have cluster Secrets, with commas between them. Towline
// writes it before the first Secret, and a CRD of another project's does not prune it, as it does status.argoNamespaces.
const AnnotationArgoNamespaces = Group + "/argo-namespaces"

// Labels that decide what a GitOpsCluster may read and write.
const (
	// LabelArgoNamespace is "true" on a Namespace whose Argo CD may be given clusters by GitOpsClusters of other
	// namespaces.
	LabelArgoNamespace = Group + "/gitops-argo-namespace"

	// LabelServiceAccount is "true" on the Secret with the token of a ManagedServiceAccount, in the namespace of its
	// cluster; set by the add-on managed-serviceaccount.
	LabelServiceAccount = "authentication.open-cluster-management.io/is-managed-serviceaccount"

	// LabelGenerator is "true" on the ConfigMap, Role and RoleBinding that Towline makes for the clusterDecisionResource
	// generator.
	LabelGenerator = Group + "/placement-generator"
)

// FinalizerClusterSecrets holds a GitOpsCluster until the cluster Secrets that only it wants are gone.
const FinalizerClusterSecrets = Group + "/cluster-secrets"

// Types of the conditions in a GitOpsCluster's status; ConditionReady says whether the first two are True.
const (
	// ConditionPlacementResolved: the decisions of the Placement have been read.
	ConditionPlacementResolved = "PlacementResolved"

	// ConditionClustersImported: every cluster that they name has its Secret.
	ConditionClustersImported = "ClustersImported"

	// ConditionClustersRemoved: no other cluster has one on behalf of this GitOpsCluster any more.
	ConditionClustersRemoved = "ClustersRemoved"

	// ConditionStandingBack is True where an older controller of GitOpsClusters has this one: Towline writes nothing else for it. It
	// is there as long as that is so.
	ConditionStandingBack = "StandingBack"

	// ConditionFieldsIgnored is True where the spec asks for something that Towline does not do. Nothing else depends on it. It is
	// there as long as that is so.
	ConditionFieldsIgnored = "FieldsIgnored"
)

// Reasons of those conditions, and of the events on a GitOpsCluster.
const (
	// ReasonOlderControllerRuns: the controller of GitOpsClusters of multicloud-integrations runs on the hub.
	ReasonOlderControllerRuns = "OlderControllerRuns"
	// ReasonOlderControllerWrote: it has written the status, and nobody has said that it has stopped for good.
	ReasonOlderControllerWrote = "OlderControllerWrote"

	// ReasonResolved: the Placement's decisions have been read.
	ReasonResolved = "Resolved"
	// ReasonPlacementRefInvalid: spec.placementRef does not name a Placement of the same namespace.
	ReasonPlacementRefInvalid = "PlacementRefInvalid"
	// ReasonPlacementNotFound: there is no such Placement.
	ReasonPlacementNotFound = "PlacementNotFound"
	// ReasonPlacementPending: the Placement has no decisions yet.
	ReasonPlacementPending = "PlacementPending"

	// ReasonImported: every selected cluster has its Secret.
	ReasonImported = "Imported"
	// ReasonPlacementUnresolved: what to import is not known.
	ReasonPlacementUnresolved = "PlacementUnresolved"
	// ReasonArgoNamespaceInvalid: spec.argoServer.argoNamespace cannot be a namespace.
	ReasonArgoNamespaceInvalid = "ArgoNamespaceInvalid"
	// ReasonArgoNamespaceNotAllowed: the Argo CD's namespace is another one, and not labelled to allow that.
	ReasonArgoNamespaceNotAllowed = "ArgoNamespaceNotAllowed"
	// ReasonArgoNamespaceForbidden: Towline has no rights in the Argo CD's namespace.
	ReasonArgoNamespaceForbidden = "ArgoNamespaceForbidden"
	// ReasonArgoNamespacesExceeded: there may be Secrets in so many other namespaces that no further one is taken.
	ReasonArgoNamespacesExceeded = "ArgoNamespacesExceeded"
	// ReasonCredentialsForbidden: Towline may not read the tokens of the ManagedServiceAccount.
	ReasonCredentialsForbidden = "CredentialsForbidden"
	// ReasonCredentialsMissing: some clusters have no token of the ManagedServiceAccount.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonCredentialsConflict: another GitOpsCluster wants other credentials for the same clusters.
	ReasonCredentialsConflict = "CredentialsConflict"
	// ReasonServerUnknown: some clusters have no usable address, which credentials need.
	ReasonServerUnknown = "ServerUnknown"
	// ReasonSecretConflict: some clusters have a Secret in the Argo CD that is not Towline's.
	ReasonSecretConflict = "SecretConflict"
	// ReasonSecretRejected: the hub refused some Secrets.
	ReasonSecretRejected = "SecretRejected"

	// ReasonNotServed: some fields of the spec have no effect.
	ReasonNotServed = "NotServed"

	// ReasonRemoved: no cluster that is not selected has a Secret.
	ReasonRemoved = "Removed"
	// ReasonApplicationsRemain: Applications still target clusters that are no longer selected.
	ReasonApplicationsRemain = "ApplicationsRemain"
	// ReasonStatusPruned: the CRD is another project's, and does not keep all of the status.
	ReasonStatusPruned = "StatusPruned"
	// ReasonSelectionUnsettled: the Placement's status and its decisions do not agree, so nothing is removed.
	ReasonSelectionUnsettled = "SelectionUnsettled"
)
