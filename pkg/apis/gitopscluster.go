package apis

// Labels of an Argo CD cluster Secret. The three of ours are those of the older controllers, and consoles find the
// Secrets by them.
const (
	// LabelSecretType is Argo CD's label for its Secrets: the kind of the Secret.
	LabelSecretType = "argocd.argoproj.io/secret-type" //nolint:gosec // a label

	// SecretTypeCluster is the value of LabelSecretType on a cluster Secret.
	SecretTypeCluster = "cluster"

	// LabelImported is "true" on the cluster Secret of a ManagedCluster.
	LabelImported = Group + "/acm-cluster"

	// LabelClusterName is the name of the ManagedCluster of a cluster Secret. Towline may write a Secret with this label
	// and acm-cluster. Set both labels on a Secret that was created by hand to hand the Secret over to Towline.
	LabelClusterName = Group + "/cluster-name"

	// LabelClusterServer is the host of the Secret's server, if the host fits into a label.
	LabelClusterServer = Group + "/cluster-server"
)

// Annotations of the Argo CD cluster Secrets that Towline creates.
const (
	// AnnotationGitOpsClusters are the GitOpsClusters that need the Secret, "<namespace>/<name>" with commas in between.
	// Towline deletes the Secret with the last of these GitOpsClusters.
	AnnotationGitOpsClusters = Group + "/gitopsclusters"

	// AnnotationClusterLabels are the keys of the labels from the ManagedCluster, with commas in between. Towline keeps
	// all other labels.
	AnnotationClusterLabels = Group + "/labels-of-cluster"

	// AnnotationServiceAccount is the name of the ManagedServiceAccount whose token is in the Secret.
	AnnotationServiceAccount = Group + "/managed-serviceaccount"
)

// AnnotationArgoNamespaces are the namespaces in which a GitOpsCluster may have cluster Secrets, with commas in between.
// Towline writes the annotation before the first Secret of a namespace. The CRD of another product prunes
// status.argoNamespaces, but not this annotation.
const AnnotationArgoNamespaces = Group + "/argo-namespaces"

// AnnotationGitOpsAccounts lists on the Namespace of an Argo CD the ManagedServiceAccounts for GitOpsClusters, as
// "<namespace of the GitOpsCluster>/<account>" with commas in between. GitOpsClusters of the Argo CD's own namespace may
// use every account, unless the list has entries for this namespace.
const AnnotationGitOpsAccounts = Group + "/gitops-service-accounts"

// Labels that decide what a GitOpsCluster may read and write.
const (
	// LabelArgoNamespace is "true" on a Namespace if GitOpsClusters of other namespaces may give clusters to its Argo
	// CD.
	LabelArgoNamespace = Group + "/gitops-argo-namespace"

	// LabelServiceAccount is "true" on the Secret with the token of a ManagedServiceAccount, in the namespace of its
	// cluster. The add-on managed-serviceaccount sets it.
	LabelServiceAccount = "authentication.open-cluster-management.io/is-managed-serviceaccount"

	// LabelGenerator is "true" on the ConfigMap, Role and RoleBinding that Towline creates for the
	// clusterDecisionResource generator.
	LabelGenerator = Group + "/placement-generator"
)

// FinalizerClusterSecrets keeps a GitOpsCluster until Towline has deleted the cluster Secrets that no other
// GitOpsCluster needs.
const FinalizerClusterSecrets = Group + "/cluster-secrets"

// Types of the conditions in a GitOpsCluster's status; ConditionReady says whether the first two are True.
const (
	// ConditionPlacementResolved: Towline has read the decisions of the Placement.
	ConditionPlacementResolved = "PlacementResolved"

	// ConditionClustersImported: every chosen cluster has its Secret.
	ConditionClustersImported = "ClustersImported"

	// ConditionClustersRemoved: only chosen clusters have Secrets of this GitOpsCluster.
	ConditionClustersRemoved = "ClustersRemoved"

	// ConditionStandingBack is True if an older controller handles this GitOpsCluster: Towline writes only this
	// condition. Otherwise the condition does not exist.
	ConditionStandingBack = "StandingBack"

	// ConditionFieldsIgnored is True if the spec has fields without effect in Towline. The condition Ready does not
	// depend on such fields. Otherwise the condition does not exist.
	ConditionFieldsIgnored = "FieldsIgnored"
)

// Reasons of those conditions, and of the events on a GitOpsCluster.
const (
	// ReasonOlderControllerRuns: the controller of GitOpsClusters of multicloud-integrations runs on the hub.
	ReasonOlderControllerRuns = "OlderControllerRuns"
	// ReasonOlderControllerWrote: the older controller of GitOpsClusters has written the status, and
	// --take-over-gitopsclusters is not set.
	ReasonOlderControllerWrote = "OlderControllerWrote"

	// ReasonResolved: Towline has read the Placement's decisions.
	ReasonResolved = "Resolved"
	// ReasonPlacementRefInvalid: the field spec.placementRef does not name a Placement of the same namespace.
	ReasonPlacementRefInvalid = "PlacementRefInvalid"
	// ReasonPlacementNotFound: the Placement does not exist.
	ReasonPlacementNotFound = "PlacementNotFound"
	// ReasonPlacementPending: the Placement has no decisions yet.
	ReasonPlacementPending = "PlacementPending"

	// ReasonImported: every chosen cluster has its Secret.
	ReasonImported = "Imported"
	// ReasonPlacementUnresolved: the chosen clusters are unknown: see the condition PlacementResolved.
	ReasonPlacementUnresolved = "PlacementUnresolved"
	// ReasonArgoNamespaceInvalid: the field spec.argoServer.argoNamespace is not a valid name of a namespace.
	ReasonArgoNamespaceInvalid = "ArgoNamespaceInvalid"
	// ReasonArgoNamespaceNotAllowed: the Argo CD is in another namespace, and this namespace lacks the label that
	// permits other namespaces.
	ReasonArgoNamespaceNotAllowed = "ArgoNamespaceNotAllowed"
	// ReasonArgoNamespaceForbidden: Towline has no rights in the namespace of the Argo CD.
	ReasonArgoNamespaceForbidden = "ArgoNamespaceForbidden"
	// ReasonArgoNamespacesExceeded: the GitOpsCluster may have Secrets in 16 other namespaces, and Towline uses no more
	// namespaces.
	ReasonArgoNamespacesExceeded = "ArgoNamespacesExceeded"
	// ReasonCredentialsForbidden: Towline may not read the tokens of the ManagedServiceAccount.
	ReasonCredentialsForbidden = "CredentialsForbidden"
	// ReasonCredentialsMissing: some clusters have no token of the ManagedServiceAccount.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonCredentialsNotAllowed: the namespace of the Argo CD does not permit the ManagedServiceAccount to the GitOpsCluster.
	ReasonCredentialsNotAllowed = "CredentialsNotAllowed"
	// ReasonCredentialsConflict: another GitOpsCluster comes first and decides about the credentials of the same clusters.
	ReasonCredentialsConflict = "CredentialsConflict"
	// ReasonServerUnknown: credentials need an address, and some clusters have none.
	ReasonServerUnknown = "ServerUnknown"
	// ReasonSecretConflict: some clusters already have a foreign Secret in this Argo CD.
	ReasonSecretConflict = "SecretConflict"
	// ReasonSecretRejected: the hub refused some Secrets.
	ReasonSecretRejected = "SecretRejected"

	// ReasonNotServed: some fields of the spec have no effect.
	ReasonNotServed = "NotServed"

	// ReasonRemoved: only chosen clusters have Secrets.
	ReasonRemoved = "Removed"
	// ReasonApplicationsRemain: Applications still target clusters that are no longer chosen.
	ReasonApplicationsRemain = "ApplicationsRemain"
	// ReasonStatusPruned: the hub has the CRD of another product, which prunes parts of the status.
	ReasonStatusPruned = "StatusPruned"
	// ReasonSelectionUnsettled: the Placement's status and its decisions do not agree, so Towline removes no Secret.
	ReasonSelectionUnsettled = "SelectionUnsettled"
)
