package apis

// LabelDependency is on a ManifestWork with dependencies of Applications. Its value is the kind of dependency, in one word
// (pkg/dependency).
const LabelDependency = Group + "/dependency"

// Values of LabelSecretType for Secrets of repositories.
const (
	// SecretTypeRepository is the value for one repository.
	SecretTypeRepository = "repository"

	// SecretTypeRepoCreds is the value for all repositories whose address has a prefix.
	SecretTypeRepoCreds = "repo-creds" //nolint:gosec // the name of a kind of Secret, and no secret
)

// AnnotationReleasedTo is on a dependency's ManifestWork: "<namespace>/<name>" of the released Applications on the cluster that
// still use the objects in the work, with commas between them; "*/*" if they are too many. If it names one, the objects stay on
// the cluster when the work is deleted.
const AnnotationReleasedTo = Group + "/released-to"

// Annotations that decide which dependencies are sent with Applications.
const (
	// AnnotationPropagate is "true" on a Secret or ConfigMap of the hub that may be sent to clusters; others are not sent. On
	// an AppProject, "false" keeps it on the hub.
	AnnotationPropagate = Group + "/propagate"

	// AnnotationWith, on a hub Application, names Secrets and ConfigMaps of its namespace that are sent with it into its
	// destination namespace: "secret/a,configmap/b". After a "=", each can have another name on the cluster, and another namespace:
	// "secret/a=name,configmap/b=namespace/name".
	AnnotationWith = Group + "/with"

	// AnnotationArgoCDNamespace is on a ManagedCluster: the namespace of its Argo CD, if it differs from that of most clusters.
	AnnotationArgoCDNamespace = Group + "/argocd-namespace"
)

// Reasons of the events that go with ConditionDependencyError, and of the metric towline_dependencies_failing.
const (
	// ReasonDependencyInvalid: the annotation that names the dependencies cannot be read, or a dependency cannot be sent as it is.
	ReasonDependencyInvalid = "DependencyInvalid"
	// ReasonDependencyMissing: an object that an Application names does not exist, or its owner does not permit sending it.
	ReasonDependencyMissing = "DependencyMissing"
	// ReasonDependencyForbidden: the Application's AppProject does not permit objects of that kind, or limits deployments to
	// ServiceAccounts whose rights do not hold for objects.
	ReasonDependencyForbidden = "DependencyForbidden"
	// ReasonDependencyRefused: the cluster refused a dependency, most often because it would overwrite an object that somebody
	// else created there.
	ReasonDependencyRefused = "DependencyRefused"
)
