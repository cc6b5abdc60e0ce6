package report

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// Digest represents the content of a report, without the times and generations of its conditions.
type Digest [sha256.Size]byte

// DigestOf returns a report's digest. Reports with equal digests have equal content, and a write would change nothing.
func DigestOf(r *v1alpha1.MulticlusterApplicationSetReport) Digest {
	said := struct {
		Label      string
		Owners     []metav1.OwnerReference
		Statuses   *v1alpha1.ReportStatuses
		Conditions []metav1.Condition
	}{r.Labels[apis.LabelHostingApplicationSet], r.OwnerReferences, &r.Statuses, slices.Clone(r.Status.Conditions)}
	for i := range said.Conditions {
		said.Conditions[i].LastTransitionTime, said.Conditions[i].ObservedGeneration = metav1.Time{}, 0
	}
	return sha256.Sum256(encode(said))
}

// Equal returns whether two reports have the same content.
func Equal(a, b *v1alpha1.MulticlusterApplicationSetReport) bool { return DigestOf(a) == DigestOf(b) }

// Current returns whether all conditions have observed the report's generation.
func Current(r *v1alpha1.MulticlusterApplicationSetReport) bool {
	return !slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool {
		return c.ObservedGeneration != r.Generation
	})
}

// Publish sets the times and the generation of the conditions before a write. before has the previous conditions, and
// generation is the previous generation, 0 for a new report. A report has no status subresource. Therefore every write
// makes a new generation, because the observed generation itself is part of the object.
func Publish(r *v1alpha1.MulticlusterApplicationSetReport, before []metav1.Condition, generation int64, now metav1.Time) {
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		c.LastTransitionTime, c.ObservedGeneration = now, generation+1
		if old := meta.FindStatusCondition(before, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
}

// Over prepares r for a write over a report with the metadata before. r keeps the labels and annotations of other
// owners.
func Over(r *v1alpha1.MulticlusterApplicationSetReport, before *metav1.ObjectMeta) {
	ours := r.ObjectMeta
	before.DeepCopyInto(&r.ObjectMeta)
	r.ManagedFields = nil // the API server keeps the managed fields itself
	r.OwnerReferences = ours.OwnerReferences
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	maps.Copy(r.Labels, ours.Labels)
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and times always encode
	}
	return data
}
