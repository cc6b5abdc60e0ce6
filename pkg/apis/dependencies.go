package apis

// LabelDependency is on a ManifestWork with dependencies of Applications: the kind of dependency, in one word.
const LabelDependency = Group + "/dependency"

// Values of LabelSecretType for Secrets of repositories.
const (
	// SecretTypeRepository is the value for one repository.
	SecretTypeRepository = "repository"

	// SecretTypeRepoCreds is the value for all repositories whose address has a prefix.
	SecretTypeRepoCreds = "repo-creds" //nolint:gosec // the name of a kind of Secret, and no secret
)

// AnnotationReleasedTo is on a dependency's ManifestWork: "<namespace>/<name>" of the released Applications on the
// cluster that still use the objects of the work, with commas in between; "*/*" for a list that is too long. If the
// value names an Application, the objects stay on the cluster when the work is deleted.
const AnnotationReleasedTo = Group + "/released-to"

// Annotations that decide which dependencies are sent with Applications.
const (
	// AnnotationPropagate is "true" on a Secret or ConfigMap of the hub that may be sent to clusters; Towline sends no
	// others. On an AppProject, and on the ConfigMap argocd-gpg-keys-cm, "false" keeps the object on the hub.
	// On the ConfigMap argocd-ssh-known-hosts-cm, "replace" sends the host keys also to a cluster with another text.
	AnnotationPropagate = Group + "/propagate"

	// AnnotationWith is on a hub Application: the Secrets and ConfigMaps of its namespace that travel with the
	// Application into its destination namespace, as "secret/a,configmap/b". After a "=", an object can have another
	// name on the cluster, and another namespace: "secret/a=name,configmap/b=namespace/name".
	AnnotationWith = Group + "/with"

	// AnnotationArgoCDNamespace is on a ManagedCluster: the namespace of its Argo CD, if this namespace differs from the
	// namespace on most clusters.
	AnnotationArgoCDNamespace = Group + "/argocd-namespace"
)

// Reasons of the events that go with ConditionDependencyError, and of the metric towline_dependencies_failing.
const (
	// ReasonDependencyInvalid: the annotation with the dependencies is not readable, or a dependency cannot be sent in
	// its present form.
	ReasonDependencyInvalid = "DependencyInvalid"
	// ReasonDependencyMissing: an object in the annotation of an Application does not exist, or its owner does not
	// permit the object to travel. Or the hub lacks a public key for the signatures of the Application's AppProject.
	ReasonDependencyMissing = "DependencyMissing"
	// ReasonDependencyForbidden: the Application's AppProject does not permit objects of this kind, or limits
	// deployments to ServiceAccounts whose rights do not apply to objects.
	ReasonDependencyForbidden = "DependencyForbidden"
	// ReasonDependencyRefused: the cluster refused a dependency, most often because of an object with another owner.
	ReasonDependencyRefused = "DependencyRefused"
)
