package appreport

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// OwnerGrace is how old a report without an owner must be before it counts as one whose ManifestWork is gone: what the hub
// knows of works may be older than the report.
const OwnerGrace = time.Minute

// maxUID is longer than any UID that an API server gives. Agents can write longer ones.
const maxUID = 64

// OwnerStep is what the hub has to do so that a report goes with its ManifestWork.
type OwnerStep string

// The steps.
const (
	// OwnerKeep is nothing: the report has its owner, or goes with it.
	OwnerKeep OwnerStep = "Keep"

	// OwnerSet is to make the ManifestWork its owner.
	OwnerSet OwnerStep = "Set"

	// OwnerAwait is to look again when the report is old enough.
	OwnerAwait OwnerStep = "Await"

	// OwnerDelete is to delete the report, once the API server says that there is no such ManifestWork.
	OwnerDelete OwnerStep = "Delete"
)

// Owner is the UID of the ManifestWork that owns a report and nothing else does; empty where it is otherwise.
func Owner(r *v1alpha1.ApplicationReport) types.UID {
	if len(r.OwnerReferences) != 1 {
		return ""
	}
	o := r.OwnerReferences[0]
	if o.APIVersion != workv1.GroupVersion.String() || o.Kind != "ManifestWork" || o.Name != r.Name || len(o.UID) > maxUID {
		return ""
	}
	return o.UID
}

// OwnerOf is the reference by which a ManifestWork owns the report of its name.
func OwnerOf(w *metav1.ObjectMeta) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork", Name: w.Name, UID: w.UID}
}

// DecideOwner says what to do with a report of that age and owner. w is the metadata of the ManifestWork of its name; nil when there
// is none. A report gets none that is being deleted: where a foreground deletion waits, the garbage collector would delete the
// report as often as its agent makes it. What has an owner that is gone is the garbage collector's.
func DecideOwner(owner types.UID, age time.Duration, w *metav1.ObjectMeta) OwnerStep {
	switch {
	case w != nil && (owner == w.UID || !w.DeletionTimestamp.IsZero()):
		return OwnerKeep
	case w != nil:
		return OwnerSet
	case owner != "":
		return OwnerKeep
	case age < OwnerGrace:
		return OwnerAwait
	}
	return OwnerDelete
}
