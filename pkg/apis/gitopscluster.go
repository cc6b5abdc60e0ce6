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

	// LabelClusterName is the name of that ManagedCluster. Towline may write a Secret that has both labels: to hand over a
	// Secret that was created by hand, set them.
	LabelClusterName = Group + "/cluster-name"

	// LabelClusterServer is the host of the Secret's server, if it fits into a label.
	LabelClusterServer = Group + "/cluster-server"
)

// Annotations of the Argo CD cluster Secrets that Towline creates.
const (
	// AnnotationGitOpsClusters are the GitOpsClusters that need the Secret, "<namespace>/<name>" with commas between
	// them. Towline deletes the Secret with the last of them.
	AnnotationGitOpsClusters = Group + "/gitopsclusters"

	// AnnotationClusterLabels are the keys of the labels that come from the ManagedCluster, with commas between them.
	// All others were set by somebody else and are kept.
	AnnotationClusterLabels = Group + "/labels-of-cluster"

	// AnnotationServiceAccount is the name of the ManagedServiceAccount whose token the Secret has.
	AnnotationServiceAccount = Group + "/managed-serviceaccount"
)

// AnnotationArgoNamespaces are the namespaces in which a GitOpsCluster may have cluster Secrets, with commas between them. Towline
// writes it before it creates the first Secret there. The CRD of another product prunes status.argoNamespaces, but not this annotation.
const AnnotationArgoNamespaces = Group + "/argo-namespaces"

// AnnotationGitOpsAccounts on the Namespace of an Argo CD lists the ManagedServiceAccounts for GitOpsClusters, with commas between
// the entries "<namespace of the GitOpsCluster>/<account>". GitOpsClusters of the Argo CD's own namespace may use every account,
// unless the list has entries for this namespace.
const AnnotationGitOpsAccounts = Group + "/gitops-service-accounts"

// Labels that decide what a GitOpsCluster may read and write.
const (
	// LabelArgoNamespace is "true" on a Namespace if GitOpsClusters of other namespaces may give clusters to its
	// Argo CD.
	LabelArgoNamespace = Group + "/gitops-argo-namespace"

	// LabelServiceAccount is "true" on the Secret with the token of a ManagedServiceAccount, in the namespace of its
	// cluster. The add-on managed-serviceaccount sets it.
	LabelServiceAccount = "authentication.open-cluster-management.io/is-managed-serviceaccount"

	// LabelGenerator is "true" on the ConfigMap, Role and RoleBinding that Towline creates for the clusterDecisionResource
	// generator.
	LabelGenerator = Group + "/placement-generator"
)

// FinalizerClusterSecrets keeps a GitOpsCluster until the cluster Secrets that only it needs are deleted.
const FinalizerClusterSecrets = Group + "/cluster-secrets"

// Types of the conditions in a GitOpsCluster's status; ConditionReady says whether the first two are True.
const (
	// ConditionPlacementResolved: the decisions of the Placement have been read.
	ConditionPlacementResolved = "PlacementResolved"

	// ConditionClustersImported: every cluster that the Placement has chosen has its Secret.
	ConditionClustersImported = "ClustersImported"

	// ConditionClustersRemoved: no cluster that the Placement does not choose has a Secret of this GitOpsCluster any more.
	ConditionClustersRemoved = "ClustersRemoved"

	// ConditionStandingBack is True if an older controller handles this GitOpsCluster: Towline writes nothing but this condition.
	// Otherwise the condition does not exist.
	ConditionStandingBack = "StandingBack"

	// ConditionFieldsIgnored is True if the spec has fields without effect in Towline. The condition Ready does not depend on it.
	// Otherwise the condition does not exist.
	ConditionFieldsIgnored = "FieldsIgnored"
)

// Reasons of those conditions, and of the events on a GitOpsCluster.
const (
	// ReasonOlderControllerRuns: the controller of GitOpsClusters of multicloud-integrations runs on the hub.
	ReasonOlderControllerRuns = "OlderControllerRuns"
	// ReasonOlderControllerWrote: that controller has written the status, and --take-over-gitopsclusters does not say that it has
	// stopped for good.
	ReasonOlderControllerWrote = "OlderControllerWrote"

	// ReasonResolved: the Placement's decisions have been read.
	ReasonResolved = "Resolved"
	// ReasonPlacementRefInvalid: spec.placementRef does not name a Placement of the same namespace.
	ReasonPlacementRefInvalid = "PlacementRefInvalid"
	// ReasonPlacementNotFound: there is no such Placement.
	ReasonPlacementNotFound = "PlacementNotFound"
	// ReasonPlacementPending: the Placement has no decisions yet.
	ReasonPlacementPending = "PlacementPending"

	// ReasonImported: every chosen cluster has its Secret.
	ReasonImported = "Imported"
	// ReasonPlacementUnresolved: the chosen clusters are not known: see the condition PlacementResolved.
	ReasonPlacementUnresolved = "PlacementUnresolved"
	// ReasonArgoNamespaceInvalid: spec.argoServer.argoNamespace is not a valid name of a namespace.
	ReasonArgoNamespaceInvalid = "ArgoNamespaceInvalid"
	// ReasonArgoNamespaceNotAllowed: the Argo CD is in another namespace, which does not have the label that permits this.
	ReasonArgoNamespaceNotAllowed = "ArgoNamespaceNotAllowed"
	// ReasonArgoNamespaceForbidden: Towline has no rights in the namespace of the Argo CD.
	ReasonArgoNamespaceForbidden = "ArgoNamespaceForbidden"
	// ReasonArgoNamespacesExceeded: the GitOpsCluster may have Secrets in 16 other namespaces, so Towline uses no further one.
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
	// ReasonSecretConflict: some clusters already have a Secret of somebody else in this Argo CD.
	ReasonSecretConflict = "SecretConflict"
	// ReasonSecretRejected: the hub refused some Secrets.
	ReasonSecretRejected = "SecretRejected"

	// ReasonNotServed: some fields of the spec have no effect.
	ReasonNotServed = "NotServed"

	// ReasonRemoved: only chosen clusters have Secrets.
	ReasonRemoved = "Removed"
	// ReasonApplicationsRemain: Applications still target clusters that are no longer chosen.
	ReasonApplicationsRemain = "ApplicationsRemain"
	// ReasonStatusPruned: the hub has the CRD of another product, which does not keep the whole status.
	ReasonStatusPruned = "StatusPruned"
	// ReasonSelectionUnsettled: the Placement's status and its decisions do not agree, so Towline removes no Secret.
	ReasonSelectionUnsettled = "SelectionUnsettled"
)
