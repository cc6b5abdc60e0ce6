package appreport

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// OwnerGrace is the minimum age of a report without an owner before its ManifestWork counts as gone. The hub's cache of
// works may be older than the report.
const OwnerGrace = time.Minute

// maxUID is longer than any UID of an API server. Agents can write longer UIDs.
const maxUID = 64

// OwnerStep is the hub's next step to tie the lifetime of a report to its ManifestWork.
type OwnerStep string

// The steps.
const (
	// OwnerKeep means no action: the report has its owner, or the deletion of the report is under way.
	OwnerKeep OwnerStep = "Keep"

	// OwnerSet means: make the ManifestWork the owner.
	OwnerSet OwnerStep = "Set"

	// OwnerAwait means: check again when the report is old enough.
	OwnerAwait OwnerStep = "Await"

	// OwnerDelete means: delete the report, after the API server has confirmed that the ManifestWork does not exist.
	OwnerDelete OwnerStep = "Delete"
)

// Owner returns the UID of the ManifestWork that is the report's only owner; empty otherwise.
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

// OwnerOf returns the owner reference from a report to the ManifestWork of the same name.
func OwnerOf(w *metav1.ObjectMeta) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork", Name: w.Name, UID: w.UID}
}

// DecideOwner returns the next step for a report with the given owner and age. w is the metadata of the ManifestWork of
// the same name; nil if missing. A ManifestWork under deletion does not become an owner: during a foreground deletion,
// the garbage collector would delete the report after each write by its agent. The garbage collector deletes a report
// with a missing owner.
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
