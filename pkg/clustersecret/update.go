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

// Import is what the Secret of a cluster is to say.
type Import struct {
	// Cluster is the ManagedCluster.
	Cluster *clusterv1.ManagedCluster

	// Server is the address that it is to have in Argo CD, one that no other cluster has there. A Secret that keeps credentials
	// keeps the address that they are for.
	Server string

	// Owner is the GitOpsCluster that wants the Secret. Those that want it already stay.
	Owner types.NamespacedName

	// Claims are the names of the ClusterClaims that go to the Secret as labels.
	Claims []string

	// Credentials go into the Secret; nil for none.
	Credentials *Credentials

	// Keep leaves the credentials that the Secret has, whosever they are, for want of newer ones.
	Keep bool

	// Blank takes out credentials that Towline did not put in, too. Without it they are left, for whoever set them.
	Blank bool
}

// New is the Secret of a cluster that has none, in that namespace.
func New(namespace string, i Import) *corev1.Secret {
	s := &corev1.Secret{Type: corev1.SecretTypeOpaque}
	s.Namespace, s.Name = namespace, Name(i.Cluster.Name)
	out, _ := Update(s, i)
	return out
}

// Update is existing changed to say what it should, and whether anything had to change. Labels, annotations and data
// of others stay.
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

// keepsConnection tells whether the Secret keeps its address and its credentials. The two are one: a token and authorities of one
// address, as that of a proxy, are of no use at another.
func (i Import) keepsConnection(existing *corev1.Secret) bool {
	return i.keepsConfig(existing) && hasCredentials(existing)
}

// keepsConfig tells whether the config stays as it is.
func (i Import) keepsConfig(existing *corev1.Secret) bool {
	_, there := existing.Data[keyConfig]
	mine := existing.Annotations[apis.AnnotationServiceAccount] != ""
	return there && (i.Keep || i.Credentials == nil && !mine && !i.Blank)
}

// configure sets the config, unless it is to stay as it is.
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

// Leave is existing without that owner, and whether it was the last.
func Leave(existing *corev1.Secret, owner types.NamespacedName) (out *corev1.Secret, last bool) {
	owners := slices.DeleteFunc(Owners(existing), func(o types.NamespacedName) bool { return o == owner })
	out = existing.DeepCopy()
	annotate(out, apis.AnnotationGitOpsClusters, ownersText(owners))
	return out, len(owners) == 0
}

// Leaving is existing as it is while its cluster is no longer wanted and the Secret cannot go yet, and whether anything
// had to change. It loses the labels that came from the cluster, so that generators that select by them no longer find
// it. With revoke it loses the credentials that Towline put in as well.
func Leaving(existing *corev1.Secret, revoke bool) (*corev1.Secret, bool) {
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

// annotate sets an annotation, or takes it away for an empty value. That of the owners stays even when it is empty: it
// says that Towline has written the Secret.
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
