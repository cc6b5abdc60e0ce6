package server

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-io/towline/pkg/source"
)

// Repository is a repository that the cluster of the namespace may read through the hub. Administrators read the
// objects: the agents of clusters may only use the subresource proxy.
type Repository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   RepositorySpec   `json:"spec"`
	Status RepositoryStatus `json:"status"`
}

// RepositorySpec tells which repository a name means.
type RepositorySpec struct {
	// Address is the address in the Applications on the hub, without a user name and a password.
	Address string `json:"address"`

	// Project are the AppProjects whose credentials serve the repository, with commas between the names.
	Project string `json:"project"`
}

// RepositoryStatus is the state of the mirror in the process that answers. Without a request of the cluster since the
// start of the process, only the credentials are known.
type RepositoryStatus struct {
	// Secrets are the names of the Secrets with the credential; empty for a public repository.
	Secrets []string `json:"secrets,omitempty"`

	// LastChecked is the time of the last look at the Git server, and Failure the result of a failed look.
	LastChecked    *metav1.Time `json:"lastChecked,omitempty"`
	source.Failure `json:",inline"`

	// LastFetched is the time of the last fetch of a change.
	LastFetched *metav1.Time `json:"lastFetched,omitempty"`

	// References is the number of references, and Bytes the size of the mirror.
	References int   `json:"references,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (r *Repository) DeepCopyObject() runtime.Object {
	out := *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta) //nolint:staticcheck // names the copied part
	out.Status.Secrets = append([]string(nil), r.Status.Secrets...)
	out.Status.LastChecked, out.Status.LastFetched = r.Status.LastChecked.DeepCopy(), r.Status.LastFetched.DeepCopy()
	return &out
}

// RepositoryList is a list of repositories.
type RepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Repository `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *RepositoryList) DeepCopyObject() runtime.Object {
	out := &RepositoryList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta) //nolint:staticcheck // names the copied part
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Repository))
	}
	return out
}

// RepositoryProxyOptions are the options of the subresource proxy: the path behind the repository.
type RepositoryProxyOptions struct {
	metav1.TypeMeta `json:",inline"`

	Path string `json:"path,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (o *RepositoryProxyOptions) DeepCopyObject() runtime.Object {
	out := *o
	return &out
}
