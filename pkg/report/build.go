package report

import (
	"cmp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// MaxBytes is the largest size of a report. etcd accepts 1.5 MiB in one request, and every change writes the whole
	// report.
	MaxBytes = 1 << 20

	// overhead is the reserved space for a report's metadata, counts and conditions.
	overhead = 6 << 10
)

// Build returns the report of the ApplicationSet, without the times and generations from Publish. owner is the UID of
// the ApplicationSet. The report has at most maxBytes, and shares no memory with the set.
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
	all := s.resources()
	resources, used := fitResources(all, max(room/4, room-s.rowBytes))
	rows, _ := fit(s.order, room-used, func(e *entry) int { return e.size })

	out.Statuses.Resources = resources
	out.Statuses.ClusterConditions = make([]v1alpha1.ClusterCondition, len(rows))
	for i, e := range rows {
		e.Row.DeepCopyInto(&out.Statuses.ClusterConditions[i])
	}
	c := cut{
		rows: len(s.order) - len(rows), resources: len(all) - len(resources), ofRows: len(s.order), ofResources: len(all), maxBytes: maxBytes,
	}
	out.Statuses.Summary = s.tally.summary()
	out.Statuses.Summary.Omitted, out.Statuses.Summary.OmittedResources = strconv.Itoa(c.rows), strconv.Itoa(c.resources)
	out.Status.Conditions = []metav1.Condition{c.complete(), s.tally.ready()}
	return out
}

// resources returns all resources of the set, resources with failures first. The kept resources of an earlier report
// are included until every Application has been observed.
func (s *Set) resources() []v1alpha1.ReportedResource {
	if s.waiting == 0 {
		s.kept = nil
	}
	known := s.union.list()
	all := make([]v1alpha1.ReportedResource, 0, len(known)+len(s.kept))
	for _, ref := range known {
		all = append(all, s.failures.of(ref))
	}
	all = s.withKept(all)
	slices.SortStableFunc(all, func(a, b v1alpha1.ReportedResource) int {
		return cmp.Or(cmp.Compare(min(b.Failing, 1), min(a.Failing, 1)), compareRefs(a.ResourceRef, b.ResourceRef))
	})
	return all
}

// withKept adds the resources of an earlier report. A failure in the earlier report counts while its Application has
// not been observed since.
func (s *Set) withKept(all []v1alpha1.ReportedResource) []v1alpha1.ReportedResource {
	if len(s.kept) == 0 {
		return all
	}
	places := make(map[v1alpha1.ResourceRef]int, len(all))
	for i := range all {
		places[all[i].ResourceRef] = i
	}
	for i := range s.kept {
		at, known := places[s.kept[i].ResourceRef]
		if !known {
			at, all = len(all), append(all, v1alpha1.ReportedResource{ResourceRef: s.kept[i].ResourceRef})
		}
		s.addKept(&all[at], &s.kept[i])
	}
	return all
}

// addKept adds the failures from an earlier report for Applications without a newer observation.
func (s *Set) addKept(r, kept *v1alpha1.ReportedResource) {
	if kept.Failing <= r.Failing {
		return
	}
	r.Failing = min(kept.Failing, r.Failing+int32(s.waiting)) //nolint:gosec // as many as Applications
	for _, f := range kept.Failures {
		if s.waitingOn[f.Cluster] > 0 && !slices.Contains(r.Failures, f) {
			r.Failures = append(r.Failures, f)
		}
	}
	slices.SortStableFunc(r.Failures, func(a, b v1alpha1.ResourceFailure) int { return cmp.Compare(a.Cluster, b.Cluster) })
	r.Failures = r.Failures[:min(len(r.Failures), maxFailures)]
}

// fitResources returns the leading resources that fit into room, and their total size. The failures of the leading
// resources use the remaining room.
func fitResources(all []v1alpha1.ReportedResource, room int) ([]v1alpha1.ReportedResource, int) {
	short := slices.Clone(all)
	for i := range short {
		short[i].Failures = nil
	}
	short, used := fit(short, room, func(r v1alpha1.ReportedResource) int { return size(&r) })
	for i := range short {
		more := size(&all[i]) - size(&short[i])
		if more == 0 || used+more > room {
			break
		}
		short[i], used = all[i], used+more
	}
	return short, used
}

// fit returns the leading items that fit into room, and their total size.
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
