package apis

// LabelDependency is on a ManifestWork that carries what Applications need beside themselves: what that is, in one word
// (pkg/dependency).
const LabelDependency = Group + "/dependency"

// Values of LabelSecretType that are a repository's.
const (
	// SecretTypeRepository is the value for one repository.
	SecretTypeRepository = "repository"

	// SecretTypeRepoCreds is the value for all repositories whose address has a prefix.
	SecretTypeRepoCreds = "repo-creds" //nolint:gosec // the name of a kind of Secret, and no secret
)

// AnnotationReleasedTo is on a dependency's ManifestWork: "<namespace>/<name>" of the Applications of the cluster that were
// released and go on using what it carries, with commas between them; "*/*" when those are too many. As long as there
// is one, the deletion of the work leaves that where it is.
const AnnotationReleasedTo = Group + "/released-to"

// Annotations that decide what travels beside Applications.
const (
	// AnnotationPropagate is "true" on a Secret or ConfigMap of the hub that may travel to clusters: no other does. On
	// an AppProject, "false" keeps it on the hub.
	AnnotationPropagate = Group + "/propagate"

	// AnnotationWith, on a hub Application, names Secrets and ConfigMaps of its namespace that travel beside it into its
	// destination namespace: "secret/a,configmap/b". After a "=" each can have another name there, and another namespace:
	// "secret/a=name,configmap/b=namespace/name".
	AnnotationWith = Group + "/with"

	// AnnotationArgoCDNamespace is on a ManagedCluster whose Argo CD is in another namespace than most clusters'.
	AnnotationArgoCDNamespace = Group + "/argocd-namespace"
)

// Reasons of the events that go with ConditionDependencyError, and of the metric towline_dependencies_failing.
const (
	// ReasonDependencyInvalid: what an Application names to travel beside it cannot be read or sent as it is.
	ReasonDependencyInvalid = "DependencyInvalid"
	// ReasonDependencyMissing: what an Application names to travel beside it does not exist, or its owner does not let it.
	ReasonDependencyMissing = "DependencyMissing"
	// ReasonDependencyForbidden: the Application's AppProject does not permit objects of that kind.
	ReasonDependencyForbidden = "DependencyForbidden"
	// ReasonDependencyRefused: the cluster did not take what travels beside an Application, most often because it would
	// overwrite what somebody has made there.
	ReasonDependencyRefused = "DependencyRefused"
)
