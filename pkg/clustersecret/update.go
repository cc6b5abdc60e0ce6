package clustersecret

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Import is the new content for the Secret of a cluster.
type Import struct {
	// Cluster is the ManagedCluster.
	Cluster *clusterv1.ManagedCluster

	// Server is the address of the cluster in Argo CD, different from all other clusters' addresses. A Secret with
	// kept credentials keeps the matching address.
	Server string

	// Owner is the GitOpsCluster that wants the Secret. The existing owners stay.
	Owner types.NamespacedName

	// Claims are the names of the ClusterClaims for labels on the Secret.
	Claims []string

	// Credentials go into the Secret; nil for none.
	Credentials *Credentials

	// Keep leaves all credentials in the Secret, of any owner, because newer credentials are not available.
	Keep bool

	// Blank also removes foreign credentials. Otherwise foreign credentials stay.
	Blank bool
}

// New returns a new Secret for a cluster, in the given namespace.
func New(namespace string, i Import) *corev1.Secret {
	s := &corev1.Secret{Type: corev1.SecretTypeOpaque}
	s.Namespace, s.Name = namespace, Name(i.Cluster.Name)
	out, _ := Update(s, i)
	return out
}

// Update returns the existing Secret with the new content, and whether the content differs. Foreign labels,
// annotations and data stay.
func Update(existing *corev1.Secret, i Import) (*corev1.Secret, bool) {
	out := existing.DeepCopy()
	_, known := existing.Annotations[apis.AnnotationGitOpsClusters]
	server := i.Server
	if i.keepsConnection(existing) {
		server = string(existing.Data[keyServer])
	}
	labels, keys := follow(existing.Labels, followedKeys(existing), !known, followed(i.Cluster, i.Claims))
	delete(labels, apis.LabelClusterServer)
	maps.Copy(labels, fixed(i.Cluster.Name, server))
	out.Labels = labels

	annotate(out, apis.AnnotationGitOpsClusters, ownersText(append(Owners(existing), i.Owner)))
	annotate(out, apis.AnnotationClusterLabels, strings.Join(keys, ","))
	if out.Data == nil {
		out.Data = map[string][]byte{}
	}
	out.Data[keyName], out.Data[keyServer] = []byte(i.Cluster.Name), []byte(server)
	i.configure(existing, out)
	return out, differs(existing, out)
}

// keepsConnection reports whether the Secret keeps the address and the credentials. They belong together: the token
// and the authorities of an address, for example of a proxy, are useless at a different address.
func (i Import) keepsConnection(existing *corev1.Secret) bool {
	return i.keepsConfig(existing) && hasCredentials(existing)
}

// keepsConfig reports whether the config stays unchanged.
func (i Import) keepsConfig(existing *corev1.Secret) bool {
	_, there := existing.Data[keyConfig]
	mine := existing.Annotations[apis.AnnotationServiceAccount] != ""
	return there && (i.Keep || i.Credentials == nil && !mine && !i.Blank)
}

// configure sets the config, unless the config stays unchanged.
func (i Import) configure(existing, out *corev1.Secret) {
	current := existing.Data[keyConfig]
	switch {
	case i.keepsConfig(existing):
		return
	case i.Credentials != nil:
		annotate(out, apis.AnnotationServiceAccount, i.Credentials.Account)
	default:
		annotate(out, apis.AnnotationServiceAccount, "")
	}
	if text := i.Credentials.text(); !bytes.Equal(current, digest(text)) {
		out.Data[keyConfig] = text
	}
}

// RemoveOwner returns the existing Secret without the owner, and whether no owner is left.
func RemoveOwner(existing *corev1.Secret, owner types.NamespacedName) (out *corev1.Secret, last bool) {
	owners := slices.DeleteFunc(Owners(existing), func(o types.NamespacedName) bool { return o == owner })
	out = existing.DeepCopy()
	annotate(out, apis.AnnotationGitOpsClusters, ownersText(owners))
	return out, len(owners) == 0
}

// RemoveClusterLabels returns the existing Secret for an unwanted cluster, as long as the Secret must stay, and whether
// the content differs. The labels from the cluster go, so generators no longer find the Secret by label. With revoke,
// Towline's credentials go as well.
func RemoveClusterLabels(existing *corev1.Secret, revoke bool) (*corev1.Secret, bool) {
	out := existing.DeepCopy()
	out.Labels, _ = follow(existing.Labels, followedKeys(existing), false, nil)
	annotate(out, apis.AnnotationClusterLabels, "")
	if revoke && existing.Annotations[apis.AnnotationServiceAccount] != "" {
		(Import{}).configure(existing, out)
	}
	return out, differs(existing, out)
}

func followedKeys(s *corev1.Secret) []string {
	return strings.Split(s.Annotations[apis.AnnotationClusterLabels], ",")
}

// annotate sets an annotation. An empty value removes the annotation of the service account. Other annotations stay
// with an empty value: the annotation of the owners is the mark of a Secret written by Towline.
func annotate(s *corev1.Secret, key, value string) {
	if value == "" && key == apis.AnnotationServiceAccount {
		delete(s.Annotations, key)
		return
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[key] = value
}

func differs(a, b *corev1.Secret) bool {
	return !maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		!maps.EqualFunc(a.Data, b.Data, bytes.Equal)
}
