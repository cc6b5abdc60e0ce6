package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// works implements the REST verbs of ManifestWorks, without the verbs of the status. Agents write the status through
// Maestro.
type works struct {
	rest.TableConvertor

	mirror *mirror.Mirror
}

var (
	_ rest.Storage              = &works{}
	_ rest.Getter               = &works{}
	_ rest.Lister               = &works{}
	_ rest.Watcher              = &works{}
	_ rest.CreaterUpdater       = &works{}
	_ rest.GracefulDeleter      = &works{}
	_ rest.Scoper               = &works{}
	_ rest.SingularNameProvider = &works{}
)

// New implements rest.Storage.
func (s *works) New() runtime.Object { return &workv1.ManifestWork{} }

// NewList implements rest.Lister.
func (s *works) NewList() runtime.Object { return &workv1.ManifestWorkList{} }

// Destroy implements rest.Storage.
func (s *works) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *works) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (s *works) GetSingularName() string { return "manifestwork" }

// ready returns an error until the mirror has read all works once, because an early list would be empty. ready also
// returns an error if a newer process leads or may lead, because the works of the mirror may be old.
func (s *works) ready() error {
	if err := leads(s.mirror); err != nil {
		return apierrors.NewServiceUnavailable(err.Error())
	}
	return nil
}

// Get implements rest.Getter. A request with a resourceVersion gets the mirror's work. For a request without a
// resourceVersion, Get reads Maestro.
func (s *works) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}
	work := s.mirror.Known(key)
	if options == nil || options.ResourceVersion == "" {
		var err error
		if work, err = s.mirror.Get(ctx, key); err != nil {
			return nil, apierrors.NewServiceUnavailable("Maestro cannot be read: " + err.Error())
		}
	}
	if work == nil {
		return nil, apierrors.NewNotFound(mirror.Resource, name)
	}
	return work.DeepCopy(), nil
}

// List implements rest.Lister.
func (s *works) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	selects, err := selector(ctx, options)
	if err != nil {
		return nil, err
	}
	var after types.NamespacedName
	var begun uint64
	if options != nil && options.Continue != "" {
		if after, begun, err = parseContinue(options.Continue); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	all, at := s.mirror.All(selects.namespace, after)
	if begun > 0 {
		at = begun
	}
	out := &workv1.ManifestWorkList{Items: []workv1.ManifestWork{}}
	out.ResourceVersion = strconv.FormatUint(at, 10)
	for w := range all {
		if !selects.has(w) {
			continue
		}
		if options != nil && options.Limit > 0 && int64(len(out.Items)) == options.Limit {
			out.Continue = formatContinue(&out.Items[len(out.Items)-1], at)
			break
		}
		out.Items = append(out.Items, *w)
	}
	return out, nil
}

// formatContinue returns a continue token with the last work of a page and the version of the first page. A watch from
// the version of the first page delivers the changes between the pages.
func formatContinue(after *workv1.ManifestWork, at uint64) string {
	text := strings.Join([]string{strconv.FormatUint(at, 10), after.Namespace, after.Name}, "\x00")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func parseContinue(token string) (after types.NamespacedName, at uint64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return after, 0, fmt.Errorf("continue token: %w", err)
	}
	number, place, _ := strings.Cut(string(data), "\x00")
	after.Namespace, after.Name, _ = strings.Cut(place, "\x00")
	at, err = strconv.ParseUint(number, 10, 64)
	return after, at, err
}

// selection selects the works of a request.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func selector(ctx context.Context, options *internalversion.ListOptions) (selection, error) {
	out := selection{namespace: request.NamespaceValue(ctx), labels: labels.Everything(), fields: fields.Everything()}
	if options == nil {
		return out, nil
	}
	if options.LabelSelector != nil {
		out.labels = options.LabelSelector
	}
	if options.FieldSelector != nil {
		out.fields = options.FieldSelector
	}
	for _, r := range out.fields.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return out, apierrors.NewBadRequest(fmt.Sprintf("field selector %q: works are selected by metadata.name and metadata.namespace only", r.Field))
		}
	}
	return out, nil
}

func (s selection) has(w *workv1.ManifestWork) bool {
	return w != nil && (s.namespace == "" || s.namespace == w.Namespace) && s.labels.Matches(labels.Set(w.Labels)) &&
		s.fields.Matches(fields.Set{"metadata.name": w.Name, "metadata.namespace": w.Namespace})
}

// Create implements the creation of rest.CreaterUpdater.
func (s *works) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	w := obj.DeepCopyObject().(*workv1.ManifestWork) //nolint:forcetypeassert // New made it
	if w.Name == "" && w.GenerateName != "" {
		w.Name = names.SimpleNameGenerator.GenerateName(w.GenerateName)
	}
	w.Namespace = request.NamespaceValue(ctx)
	w.GenerateName, w.ResourceVersion = "", ""
	w.UID, w.Generation, w.Status = uuid.NewUUID(), 1, workv1.ManifestWorkStatus{}
	w.ManagedFields, w.DeletionTimestamp, w.DeletionGracePeriodSeconds, w.Finalizers = nil, nil, nil, nil
	if err := check(w); err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, w.DeepCopy()); err != nil {
			return nil, err
		}
	}
	if len(options.DryRun) > 0 {
		if s.mirror.Known(types.NamespacedName{Namespace: w.Namespace, Name: w.Name}) != nil {
			return nil, apierrors.NewAlreadyExists(mirror.Resource, w.Name)
		}
		return w, nil
	}
	made, err := s.mirror.Create(ctx, w)
	return shown(made), err
}

// check returns an error for invalid metadata of a work. Maestro checks the manifests.
func check(w *workv1.ManifestWork) error {
	errs := validation.ValidateObjectMeta(&w.ObjectMeta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if len(errs) > 0 {
		return apierrors.NewInvalid(version.WithKind("ManifestWork").GroupKind(), w.Name, errs)
	}
	return nil
}

// shown returns a copy of a work for the answer to a request, because all requests share the mirror's works.
func shown(w *workv1.ManifestWork) runtime.Object {
	if w == nil {
		return nil
	}
	return w.DeepCopy()
}

// Update implements rest.Updater.
func (s *works) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, validateNew rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc, mayCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	if err := s.ready(); err != nil {
		return nil, false, err
	}
	was := s.mirror.Known(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name})
	if was == nil {
		if !mayCreate {
			return nil, false, apierrors.NewNotFound(mirror.Resource, name)
		}
		obj, err := info.UpdatedObject(ctx, s.New())
		if err != nil {
			return nil, false, err
		}
		made, err := s.Create(ctx, obj, validateNew, &metav1.CreateOptions{DryRun: options.DryRun})
		return made, err == nil, err
	}
	obj, err := info.UpdatedObject(ctx, was.DeepCopy())
	if err != nil {
		return nil, false, err
	}
	w := obj.DeepCopyObject().(*workv1.ManifestWork) //nolint:forcetypeassert // New made it
	if err := meets(was, w, info.Preconditions()); err != nil {
		return nil, false, err
	}
	prepare(w, was)
	if err := check(w); err != nil {
		return nil, false, err
	}
	if validate != nil {
		if err := validate(ctx, w.DeepCopy(), was.DeepCopy()); err != nil {
			return nil, false, err
		}
	}
	if unchanged(was, w) || len(options.DryRun) > 0 {
		return w, false, nil
	}
	now, err := s.mirror.Update(ctx, was, w)
	return shown(now), false, err
}

// meets returns a conflict if the UID or the resourceVersion of a write does not match the present work.
func meets(was, w *workv1.ManifestWork, only *metav1.Preconditions) error {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(mirror.Resource, was.Name, fmt.Errorf(format, args...))
	}
	switch {
	case only != nil && only.UID != nil && *only.UID != was.UID:
		return conflict("the UID is %s, not %s", was.UID, *only.UID)
	case only != nil && only.ResourceVersion != nil && *only.ResourceVersion != was.ResourceVersion,
		w.ResourceVersion != "" && w.ResourceVersion != was.ResourceVersion:
		return conflict("the object has been modified; please apply your changes to the latest version and try again")
	case w.UID != "" && w.UID != was.UID:
		return conflict("the UID is %s, not %s", was.UID, w.UID)
	}
	return nil
}

// prepare keeps from an update only the labels, the annotations, the owners and the spec. An author of an update may
// not change further fields.
func prepare(w, was *workv1.ManifestWork) {
	meta := was.ObjectMeta.DeepCopy()
	meta.Labels, meta.Annotations, meta.OwnerReferences = w.Labels, w.Annotations, w.OwnerReferences
	w.ObjectMeta, w.Status = *meta, was.Status
}

func unchanged(was, w *workv1.ManifestWork) bool {
	return apiequality.Semantic.DeepEqual(was.Spec, w.Spec) && apiequality.Semantic.DeepEqual(was.Labels, w.Labels) &&
		apiequality.Semantic.DeepEqual(was.Annotations, w.Annotations) && apiequality.Semantic.DeepEqual(was.OwnerReferences, w.OwnerReferences)
}

// Delete implements rest.GracefulDeleter. The work stays until the cluster's work agent confirms the deletion.
func (s *works) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	if err := s.ready(); err != nil {
		return nil, false, err
	}
	was := s.mirror.Known(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name})
	if was == nil {
		return nil, false, apierrors.NewNotFound(mirror.Resource, name)
	}
	if options != nil {
		if err := meets(was, &workv1.ManifestWork{}, options.Preconditions); err != nil {
			return nil, false, err
		}
	}
	if validate != nil {
		if err := validate(ctx, was.DeepCopy()); err != nil {
			return nil, false, err
		}
	}
	if options != nil && len(options.DryRun) > 0 {
		return was.DeepCopy(), false, nil
	}
	now, err := s.mirror.Delete(ctx, was)
	if err != nil {
		return nil, false, err
	}
	if now == nil {
		return was.DeepCopy(), true, nil
	}
	return shown(now), false, nil
}

// Watch implements rest.Watcher.
func (s *works) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	selects, err := selector(ctx, options)
	if err != nil {
		return nil, err
	}
	return newWatcher(ctx, s.mirror, selects, options)
}
