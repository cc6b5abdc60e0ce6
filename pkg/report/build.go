package report

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// DefaultMaxBytes is how large a report may be. etcd takes 1.5 MiB in one request, and every change writes all of it.
	DefaultMaxBytes = 1 << 20

	// overhead is what is kept free for a report's metadata, counts and conditions.
	overhead = 6 << 10
)

// Build is the report of the ApplicationSet, whose UID is owner, but for times and generations, which Publish adds. It takes
// maxBytes at most, and shares nothing with the set.
func (s *Set) Build(set types.NamespacedName, owner types.UID, maxBytes int) *v1alpha1.MulticlusterApplicationSetReport {
	out := &v1alpha1.MulticlusterApplicationSetReport{}
	out.APIVersion, out.Kind = v1alpha1.GroupVersion.String(), "MulticlusterApplicationSetReport"
	out.Namespace, out.Name = set.Namespace, set.Name
	out.Labels = map[string]string{apis.LabelHostingApplicationSet: LabelValue(set)}
	if owner != "" {
		out.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: argocd.GroupVersion.String(), Kind: "ApplicationSet", Name: set.Name, UID: owner,
		}}
	}
	room := maxBytes - overhead
	resources, used := fit(s.resources(), max(room/4, room-s.rowBytes), func(r v1alpha1.ResourceRef) int { return size(&r) })
	rows, _ := fit(s.order, room-used, func(e *entry) int { return e.size })

	out.Statuses.Resources = slices.Clone(resources)
	out.Statuses.ClusterConditions = make([]v1alpha1.ClusterCondition, len(rows))
	for i, e := range rows {
		e.Row.DeepCopyInto(&out.Statuses.ClusterConditions[i])
	}
	c := cut{rows: len(s.order) - len(rows), resources: len(s.resources()) - len(resources), maxBytes: maxBytes}
	out.Statuses.Summary = s.tally.summary()
	out.Statuses.Summary.Omitted, out.Statuses.Summary.OmittedResources = strconv.Itoa(c.rows), strconv.Itoa(c.resources)
	out.Status.Conditions = []metav1.Condition{c.complete(s), s.tally.ready()}
	return out
}

// resources are all resources of the set, with those that are kept from an earlier report as long as some
// Application has not been heard of.
func (s *Set) resources() []v1alpha1.ResourceRef {
	if s.waiting == 0 {
		s.kept = nil
	}
	if len(s.kept) == 0 {
		return s.union.list()
	}
	all := slices.Concat(s.union.list(), s.kept)
	slices.SortFunc(all, compareRefs)
	return slices.Compact(all)
}

// fit is as many of the first items as there is room for, and what they take.
func fit[T any](items []T, room int, size func(T) int) ([]T, int) {
	used := 0
	for i, item := range items {
		n := size(item)
		if used+n > room {
			return items[:i], used
		}
		used += n
	}
	return items, used
}
