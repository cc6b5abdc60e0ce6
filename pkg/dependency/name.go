package dependency

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/work"
)

// Kind is the kind of a dependency work.
type Kind string

// The kinds of dependency works, as in metrics.
const (
	// Project is the AppProject of a cluster's Applications: one work per cluster and project.
	Project Kind = "project"

	// Credential is a repository's credential: one work per cluster and Secret.
	Credential Kind = "credential"

	// Objects are the objects in an Application's annotation: one work per Application.
	Objects Kind = "objects"

	// Certificate is the certificate authority of a Git server: one work per cluster and server.
	Certificate Kind = "certificate"

	// HostKeys are the host keys of Git servers for SSH: one work per cluster.
	HostKeys Kind = "host-keys"

	// Namespace is a namespace of Applications on a cluster: one work per cluster and namespace.
	Namespace Kind = "namespace"
)

// Kinds are all kinds.
var Kinds = []Kind{Project, Credential, Certificate, HostKeys, Objects, Namespace}

// leads reports whether works of the kind go ahead of the Applications, and leave all objects on the cluster.
func (k Kind) leads() bool { return k == Project || k == Namespace }

// stays reports whether the cluster keeps the objects of such works. Of a certificate's ConfigMap, only the entry
// goes.
func (k Kind) stays() bool { return k.leads() || k == Certificate || k == HostKeys }

// end is the suffix in the name of every dependency work. The name of an Application's work ends in hexadecimal
// digits (pkg/work), so the names never collide.
const end = ".towline"

// hashLength is the number of hash characters in a shortened name; see pkg/work.
const hashLength = 20

// ProjectKey returns the key of the work for an AppProject on the cluster.
func ProjectKey(cluster, project string) types.NamespacedName { return key(cluster, project, Project) }

// CredentialKey returns the key of the work for a hub Secret on the cluster.
func CredentialKey(cluster, secret string) types.NamespacedName {
	return key(cluster, secret, Credential)
}

// CertificateKey returns the key of the work for the certificate authority of a Git server.
func CertificateKey(cluster, host string) types.NamespacedName {
	return key(cluster, host, Certificate)
}

// HostKeysKey returns the key of the work for the host keys on the cluster.
func HostKeysKey(cluster string) types.NamespacedName { return key(cluster, "ssh", HostKeys) }

// NamespaceKey returns the key of the work for a namespace on the cluster.
func NamespaceKey(cluster, namespace string) types.NamespacedName {
	return key(cluster, namespace, Namespace)
}

// ObjectsKey returns the key of the objects work, from the key of the Application's own work.
func ObjectsKey(own types.NamespacedName) types.NamespacedName {
	return key(own.Namespace, own.Name, Objects)
}

// KindOf returns the kind of a dependency work from the name. The result is false for an Application's work. A
// cluster can change the labels of a work, but not the name.
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

// fit returns the name followed by the suffix. A result of more than most bytes is cut, and gets a hash of the name
// before the suffix.
func fit(name, suffix string, most int) string {
	if len(name)+len(suffix) <= most {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:most-len(suffix)-1-hashLength], ".-")
	return head + "-" + hex.EncodeToString(sum[:])[:hashLength] + suffix
}

// OwnOf returns the key of the Application's own work from the key of its objects work. It returns false if the name
// was cut.
func OwnOf(objects types.NamespacedName) (types.NamespacedName, bool) {
	own, is := strings.CutSuffix(objects.Name, "."+string(Objects)+end)
	key := types.NamespacedName{Namespace: objects.Namespace, Name: own}
	return key, is && len(objects.Name) < work.MaxNameLength-2*hashLength
}
