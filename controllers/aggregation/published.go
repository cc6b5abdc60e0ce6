package aggregation

import (
	"context"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// published is what is remembered of a report as the hub has it. The zero value is a report that does not exist.
type published struct {
	meta metav1.ObjectMeta

	// ours is set when the report carries the label that reports carry.
	ours bool

	// current is set when its conditions are about its generation.
	current bool

	// cut is the digest of what the hub has of it, where that may be less than was written: of one that was read, and of one that
	// a narrower schema has cut.
	cut report.Digest

	digest     report.Digest
	conditions []metav1.Condition
}

func (p *published) exists() bool { return p.meta.ResourceVersion != "" }

// stays tells whether the report is there whether or not its ApplicationSet has Applications: it is in Git.
func (p *published) stays() bool {
	stays, err := strconv.ParseBool(p.meta.Annotations[apis.AnnotationKeepReport])
	return err == nil && stays && p.exists()
}

// mayStayWith tells whether the report names that owner, where there is one.
func (p *published) mayStayWith(owner types.UID) bool {
	return owner == "" || slices.ContainsFunc(p.meta.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner })
}

// load finds out what the report says where that is not known: at the start, and when somebody else has written it.
func (r *Reconciler) load(ctx context.Context, key types.NamespacedName, s *set) error {
	if times := r.schema.times(); s.replaced != times {
		s.published, s.replaced = nil, times
	}
	if known, err := r.knows(ctx, key, s.published); known || err != nil {
		return err
	}
	obj := &v1alpha1.MulticlusterApplicationSetReport{}
	err := r.Live.Get(ctx, key, obj)
	switch {
	case isGone(err):
		obj, s.published = nil, &published{}
	case err != nil:
		return err
	default:
		s.published = publishedOf(obj)
	}
	s.dirty = true
	if s.rows == nil && obj != nil {
		s.before, s.resources = rowsOf(obj), obj.Statuses.Resources
	}
	return nil
}

// knows tells whether p is still what the hub has, as far as the cache can tell. A cache that has not yet seen our own
// write is behind.
func (r *Reconciler) knows(ctx context.Context, key types.NamespacedName, p *published) (bool, error) {
	if p == nil {
		return false, nil
	}
	cached := metadata(key)
	err := r.Get(ctx, key, cached)
	if apierrors.IsNotFound(err) {
		return !p.exists(), nil
	}
	return err == nil && p.exists() && !newer(cached.ResourceVersion, p.meta.ResourceVersion), err
}

func publishedOf(obj *v1alpha1.MulticlusterApplicationSetReport) *published {
	digest := report.DigestOf(obj)
	return &published{
		meta:       *kept(obj),
		ours:       obj.Labels[apis.LabelHostingApplicationSet] != "",
		current:    report.Current(obj),
		cut:        digest,
		digest:     digest,
		conditions: obj.Status.Conditions,
	}
}

// kept is the metadata of a report without what only the API server needs.
func kept(obj *v1alpha1.MulticlusterApplicationSetReport) *metav1.ObjectMeta {
	meta := obj.ObjectMeta.DeepCopy()
	meta.ManagedFields = nil
	return meta
}

func rowsOf(obj *v1alpha1.MulticlusterApplicationSetReport) map[string]v1alpha1.ClusterCondition {
	rows := make(map[string]v1alpha1.ClusterCondition, len(obj.Statuses.ClusterConditions))
	for _, row := range obj.Statuses.ClusterConditions {
		rows[row.App] = row
	}
	return rows
}

// metadata is a report of which only the metadata is asked for: the content is large, and known.
func metadata(key types.NamespacedName) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MulticlusterApplicationSetReport"))
	m.Namespace, m.Name = key.Namespace, key.Name
	return m
}

// newer compares resourceVersions of the hub, which Kubernetes has declared to be comparable numbers (1.35). What
// cannot be compared counts as newer: to look again is never wrong.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// isGone tells whether the API server said that this one object does not exist. When the whole resource is not
// served, because the CRD is gone for the moment, the answer is a 404 as well, and says nothing about the object.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
