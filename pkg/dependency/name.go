package dependency

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/work"
)

// Kind is what a dependency work carries.
type Kind string

// The kinds of dependency works, as metrics name them.
const (
	// Project is the AppProject of a cluster's Applications: one work per cluster and project.
	Project Kind = "project"

	// Credential is a repository's credential: one work per cluster and Secret.
	Credential Kind = "credential"

	// Objects are what one Application names to travel beside it: one work per Application.
	Objects Kind = "objects"

	// Certificate is the certificate authority of a Git server: one work per cluster and server.
	Certificate Kind = "certificate"

	// Namespace is the namespace in which Applications arrive: one work per cluster and namespace.
	Namespace Kind = "namespace"
)

// Kinds are all kinds.
var Kinds = []Kind{Project, Credential, Certificate, Objects, Namespace}

// leads tells whether works of the kind go ahead of the Applications, and leave on the cluster what they brought.
func (k Kind) leads() bool { return k == Project || k == Namespace }

// stays tells whether the cluster keeps the objects of such works. Of a certificate's ConfigMap, only the entry goes.
func (k Kind) stays() bool { return k.leads() || k == Certificate }

// end closes the name of every dependency work. The work of an Application ends in hexadecimal digits (pkg/work), so
// none can have such a name.
const end = ".towline"

// hashLength is how much of the hash goes into a name that had to be shortened; see pkg/work.
const hashLength = 20

// ProjectKey is the work that carries the AppProject of that name to the cluster.
func ProjectKey(cluster, project string) types.NamespacedName { return key(cluster, project, Project) }

// CredentialKey is the work that carries the hub Secret of that name to the cluster.
func CredentialKey(cluster, secret string) types.NamespacedName {
	return key(cluster, secret, Credential)
}

// CertificateKey is the work that brings the certificate authority of a Git server to the cluster.
func CertificateKey(cluster, host string) types.NamespacedName {
	return key(cluster, host, Certificate)
}

// NamespaceKey is the work that brings a namespace to the cluster.
func NamespaceKey(cluster, namespace string) types.NamespacedName {
	return key(cluster, namespace, Namespace)
}

// ObjectsKey is the work that carries what an Application names, by the key of the Application's own work.
func ObjectsKey(own types.NamespacedName) types.NamespacedName {
	return key(own.Namespace, own.Name, Objects)
}

// KindOf is the kind of the dependency work of that name, and whether it is the name of one. Nobody can change the name
// of a work, as a cluster can its labels.
func KindOf(name string) (Kind, bool) {
	rest, ok := strings.CutSuffix(name, end)
	if !ok {
		return "", false
	}
	for _, kind := range Kinds {
		if strings.HasSuffix(rest, "."+string(kind)) {
			return kind, true
		}
	}
	return "", false
}

func key(cluster, of string, kind Kind) types.NamespacedName {
	return types.NamespacedName{Namespace: cluster, Name: fit(of, "."+string(kind)+end, work.MaxNameLength)}
}

// fit is the name followed by the suffix. What would be longer than most is cut and has a hash of the name before the
// suffix.
func fit(name, suffix string, most int) string {
	if len(name)+len(suffix) <= most {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:most-len(suffix)-1-hashLength], ".-")
	return head + "-" + hex.EncodeToString(sum[:])[:hashLength] + suffix
}

// OwnOf is the Application's own work that objects belong to, and whether their name tells it: a long one was cut.
func OwnOf(objects types.NamespacedName) (types.NamespacedName, bool) {
	own, is := strings.CutSuffix(objects.Name, "."+string(Objects)+end)
	key := types.NamespacedName{Namespace: objects.Namespace, Name: own}
	return key, is && len(objects.Name) < work.MaxNameLength-2*hashLength
}
