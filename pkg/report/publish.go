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

// Digest stands for all that a report says, but for the times and generations of its conditions.
type Digest [sha256.Size]byte

// DigestOf is a report's digest. Reports with the same digest say the same: to write one over the other is of no use.
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

// Equal tells whether two reports say the same.
func Equal(a, b *v1alpha1.MulticlusterApplicationSetReport) bool { return DigestOf(a) == DigestOf(b) }

// Current tells whether the conditions speak of the generation that the report has.
func Current(r *v1alpha1.MulticlusterApplicationSetReport) bool {
	return !slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool {
		return c.ObservedGeneration != r.Generation
	})
}

// Publish gives the conditions of a report that is about to be written their times and generation. before are those
// that it had and generation is the one that it had, 0 for a report that did not exist. A report has no subresource:
// writing it makes a new generation, always, since that number itself is in it.
func Publish(r *v1alpha1.MulticlusterApplicationSetReport, before []metav1.Condition, generation int64, now metav1.Time) {
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		c.LastTransitionTime, c.ObservedGeneration = now, generation+1
		if old := meta.FindStatusCondition(before, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
}

// Over makes r, which is about to be written over a report with that metadata, keep what of it is not ours: the labels
// and annotations of others.
func Over(r *v1alpha1.MulticlusterApplicationSetReport, before *metav1.ObjectMeta) {
	ours := r.ObjectMeta
	before.DeepCopyInto(&r.ObjectMeta)
	r.ManagedFields = nil // the API server keeps its account of them
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
