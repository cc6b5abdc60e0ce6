package aggregation

import (
	"context"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// published is the remembered part of the hub's report. The zero value is a report that does not exist.
type published struct {
	meta metav1.ObjectMeta

	// ours is set if the report has the label of reports.
	ours bool

	// current is set if the conditions are about the current generation.
	current bool

	// cut is the digest of the stored content, if the stored content may be less than the written content: after a
	// read, and after a write to a narrower schema.
	cut report.Digest

	digest     report.Digest
	conditions []metav1.Condition
}

func (p *published) exists() bool { return p.meta.ResourceVersion != "" }

// stays reports whether the report exists independently of Applications, because the report is in Git.
func (p *published) stays() bool {
	stays, err := strconv.ParseBool(p.meta.Annotations[apis.AnnotationKeepReport])
	return err == nil && stays && p.exists()
}

// mayStayWith reports whether the report has the given owner. It returns true for an empty owner.
func (p *published) mayStayWith(owner types.UID) bool {
	return owner == "" || slices.ContainsFunc(p.meta.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner })
}

// load reads a report with unknown content: at the start, and after a write by somebody else.
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
	case hub.IsAbsent(err):
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

// knows reports whether the cache confirms that p is still the hub's report. A cache without our last write is only
// behind.
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

// kept returns the metadata of a report without the managed fields.
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

// metadata returns the object for requests of a report's metadata. The content is large, and known already.
func metadata(key types.NamespacedName) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MulticlusterApplicationSetReport"))
	m.Namespace, m.Name = key.Namespace, key.Name
	return m
}

// newer compares resourceVersions of the hub. Kubernetes has declared them to be comparable numbers (1.35). An
// incomparable version counts as newer, because an additional read does no harm.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
