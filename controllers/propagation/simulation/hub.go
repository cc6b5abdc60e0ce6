package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

type key = types.NamespacedName

// kind is a kind of object served by the hub.
type kind int

const (
	applications kind = iota
	works
	managedClusters
	projects
	bindings
	clusterSets
	decisions
	applicationSets
	clusterNamespaces
	kinds
)

var kindNames = [kinds]string{"applications", "works", "clusters", "projects", "bindings", "sets", "decisions", "applicationsets", "namespaces"}

// kindOf returns the kind of an object or of a list.
func kindOf(obj any) kind {
	switch o := obj.(type) {
	case *argocd.Application, *argocd.ApplicationList:
		return applications
	case *workv1.ManifestWork, *workv1.ManifestWorkList:
		return works
	case *clusterv1.ManagedCluster, *clusterv1.ManagedClusterList:
		return managedClusters
	case *argocd.AppProject:
		return projects
	case *clusterv1beta2.ManagedClusterSetBinding, *clusterv1beta2.ManagedClusterSetBindingList:
		return bindings
	case *clusterv1beta2.ManagedClusterSet, *clusterv1beta2.ManagedClusterSetList:
		return clusterSets
	case *clusterv1beta1.PlacementDecision, *clusterv1beta1.PlacementDecisionList:
		return decisions
	case *unstructured.Unstructured:
		return applicationSets
	case *metav1.PartialObjectMetadata:
		switch o.Kind {
		case argocd.Kind:
			return applications
		case "Namespace":
			return clusterNamespaces
		}
		return applicationSets
	}
	panic(fmt.Sprintf("the simulation does not know %T", obj))
}

// item is one immutable version of an object, with the values of the indexes from the first use on.
type item struct {
	client.Object
	indexed map[string][]string
}

// change is a watch event: the object before and after. before is nil for a new object, and after is nil for a deleted
// object.
type change struct {
	key           key
	before, after *item
}

// hub is the model of an API server: resourceVersions from one counter, generations, preconditions, finalizers and
// deletion timestamps. It has a log of changes for each kind. Each cache follows the logs at a different pace.
type hub struct {
	world   *World
	objects [kinds]map[key]*item
	log     [kinds][]change
	version int64
	uids    int64
	writes  int

	// namespaces are the existing namespaces of managed clusters.
	namespaces map[string]bool
}

func newHub(w *World) *hub {
	h := &hub{world: w, version: 100, namespaces: map[string]bool{}}
	for k := range h.objects {
		h.objects[k] = map[key]*item{}
	}
	return h
}

func (h *hub) resource(k kind) schema.GroupResource {
	return schema.GroupResource{Resource: kindNames[k]}
}

// notFound are the NotFound errors for each kind.
var notFound = func() (out [kinds]error) {
	for k, name := range kindNames {
		out[k] = apierrors.NewNotFound(schema.GroupResource{Resource: name}, "any")
	}
	return out
}()

// uid returns the next UID. The first five characters are part of the name of a work, and differ for each UID.
func (h *hub) uid() types.UID {
	h.uids++
	if h.world.options.SameNames {
		return types.UID(fmt.Sprintf("00000-%05d", h.uids))
	}
	return types.UID(fmt.Sprintf("%05d-%04d", h.uids, h.world.epoch))
}

// put stores an object in the hub. The caller must not change the object any more.
func (h *hub) put(k kind, obj client.Object) {
	h.version++
	h.writes++
	obj.SetResourceVersion(strconv.FormatInt(h.version, 10))
	at := client.ObjectKeyFromObject(obj)
	before := h.objects[k][at]
	after := &item{Object: obj}
	if h.world.options.stored != nil {
		h.world.options.stored(obj)
	}
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
		delete(h.objects[k], at)
		h.log[k] = append(h.log[k], change{at, before, nil})
	} else {
		h.objects[k][at] = after
		h.log[k] = append(h.log[k], change{at, before, after})
	}
	h.world.told(k, at, before)
}

func (h *hub) get(k kind, at key) client.Object {
	if i := h.objects[k][at]; i != nil {
		return i.Object
	}
	return nil
}

func (h *hub) create(k kind, obj client.Object, dryRun bool) error {
	at := client.ObjectKeyFromObject(obj)
	if h.objects[k][at] != nil {
		return apierrors.NewAlreadyExists(h.resource(k), at.Name)
	}
	if k == works && !h.namespaces[at.Namespace] {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, at.Namespace)
	}
	if dryRun {
		return nil
	}
	obj.SetUID(h.uid())
	obj.SetCreationTimestamp(metav1.NewTime(h.world.now.Truncate(1e9)))
	if k == works {
		obj.SetGeneration(1)
		obj.(*workv1.ManifestWork).Status = workv1.ManifestWorkStatus{}
	}
	h.put(k, version(obj))
	obj.SetResourceVersion(strconv.FormatInt(h.version, 10))
	return nil
}

// remove is a DELETE.
func (h *hub) remove(k kind, at key, only *metav1.Preconditions) error {
	obj := h.get(k, at)
	if obj == nil {
		return notFound[k]
	}
	if only != nil && (only.UID != nil && *only.UID != obj.GetUID() ||
		only.ResourceVersion != nil && *only.ResourceVersion != obj.GetResourceVersion()) {
		return apierrors.NewConflict(h.resource(k), at.Name, errModified)
	}
	switch {
	case len(obj.GetFinalizers()) == 0:
		h.version++
		h.writes++
		before := h.objects[k][at]
		delete(h.objects[k], at)
		h.log[k] = append(h.log[k], change{at, before, nil})
		h.world.told(k, at, before)
	case obj.GetDeletionTimestamp() == nil:
		out := version(obj)
		now := metav1.NewTime(h.world.now.Truncate(1e9))
		out.SetDeletionTimestamp(&now)
		if k == works {
			out.SetGeneration(out.GetGeneration() + 1)
		}
		h.put(k, out)
	}
	return nil
}

// update stores an edited copy of an object, without the checks of an API server.
func (h *hub) update(k kind, edit func(client.Object)) func(at key) error {
	return func(at key) error {
		obj := h.get(k, at)
		if obj == nil {
			return notFound[k]
		}
		out := obj.DeepCopyObject().(client.Object)
		edit(out)
		return h.replace(k, obj, out)
	}
}

// replace stores an object unless the object is unchanged.
func (h *hub) replace(k kind, before, after client.Object) error {
	if !h.same(before, after) {
		h.put(k, after)
	}
	return nil
}

// same reports whether an object is unchanged. It increments the generation of a work with a changed spec.
func (h *hub) same(before, after client.Object) bool {
	switch after := after.(type) {
	case *workv1.ManifestWork:
		old := before.(*workv1.ManifestWork)
		if !sameSpec(&after.Spec, &old.Spec) {
			after.Generation = old.Generation + 1
			return false
		}
		return maps.Equal(after.Labels, old.Labels) && maps.Equal(after.Annotations, old.Annotations) && slices.Equal(after.Finalizers, old.Finalizers)
	case *argocd.Application:
		return sameApplication(before.(*argocd.Application), after)
	}
	return equality.Semantic.DeepEqual(before, after)
}

// sameApplication compares the mutable fields of an Application, cheap fields first.
func sameApplication(a, b *argocd.Application) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && bytes.Equal(a.Spec.Raw, b.Spec.Raw) && sameRaw(a.Operation, b.Operation) &&
		equality.Semantic.DeepEqual(&a.Status, &b.Status)
}

func sameRaw(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Raw, b.Raw)
}

// sameSpec compares the specs of works, cheap fields first.
func sameSpec(a, b *workv1.ManifestWorkSpec) bool {
	sameManifest := func(x, y workv1.Manifest) bool { return bytes.Equal(x.Raw, y.Raw) }
	return slices.EqualFunc(a.Workload.Manifests, b.Workload.Manifests, sameManifest) &&
		slices.EqualFunc(a.ManifestConfigs, b.ManifestConfigs, sameConfig) &&
		equality.Semantic.DeepEqual(a.DeleteOption, b.DeleteOption) && equality.Semantic.DeepEqual(a.Executor, b.Executor)
}

func sameConfig(a, b workv1.ManifestConfigOption) bool {
	sameRule := func(x, y workv1.FeedbackRule) bool { return x.Type == y.Type && slices.Equal(x.JsonPaths, y.JsonPaths) }
	return a.ResourceIdentifier == b.ResourceIdentifier && a.FeedbackScrapeType == b.FeedbackScrapeType &&
		slices.EqualFunc(a.FeedbackRules, b.FeedbackRules, sameRule) && equality.Semantic.DeepEqual(a.UpdateStrategy, b.UpdateStrategy)
}

// patchApplication is a merge patch of the metadata, the operation and the status of an Application. A controller may
// write no further fields. Only the status is merged as JSON.
func patchApplication(before *argocd.Application, data []byte) (*argocd.Application, error) {
	var p struct {
		Metadata struct {
			Annotations     map[string]*string `json:"annotations"`
			Finalizers      *[]string          `json:"finalizers"`
			ResourceVersion string             `json:"resourceVersion"`
			UID             types.UID          `json:"uid"`
		} `json:"metadata"`
		Operation json.RawMessage            `json:"operation"`
		Status    map[string]json.RawMessage `json:"status"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return nil, err
	}
	if v := p.Metadata.ResourceVersion; v != "" && v != before.ResourceVersion || p.Metadata.UID != "" && p.Metadata.UID != before.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: kindNames[applications]}, before.Name, errModified)
	}
	out := *before
	if len(p.Metadata.Annotations) > 0 {
		out.Annotations = clone(before.Annotations)
		for k, v := range p.Metadata.Annotations {
			if v == nil {
				delete(out.Annotations, k)
			} else {
				out.Annotations[k] = *v
			}
		}
	}
	if p.Metadata.Finalizers != nil {
		out.Finalizers = *p.Metadata.Finalizers
	}
	switch {
	case string(p.Operation) == "null":
		out.Operation = nil
	case len(p.Operation) > 0:
		merged, err := mergeInto(before.Operation, p.Operation)
		if err != nil {
			return nil, err
		}
		out.Operation = &runtime.RawExtension{Raw: merged}
	}
	if err := patchStatus(&out.Status, p.Status); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return &out, nil
}

// patchStatus is a merge patch of a status. The most frequent fields are replaced; only the remaining fields are merged
// as JSON.
func patchStatus(s *argocd.Status, patch map[string]json.RawMessage) error {
	if raw, ok := patch["conditions"]; ok {
		s.Conditions = nil
		if err := json.Unmarshal(raw, &s.Conditions); err != nil {
			return err
		}
		delete(patch, "conditions")
	}
	if raw, ok := patch["reconciledAt"]; ok {
		s.ReconciledAt = ""
		if err := json.Unmarshal(raw, &s.ReconciledAt); err != nil {
			return err
		}
		delete(patch, "reconciledAt")
	}
	if len(patch) == 0 {
		return nil
	}
	conditions := s.Conditions
	s.Conditions = nil
	rest, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	merged, err := mergeInto(s, rest)
	if err != nil {
		return err
	}
	*s = argocd.Status{}
	err = json.Unmarshal(merged, s)
	s.Conditions = conditions
	return err
}

func mergeInto(before any, patch []byte) ([]byte, error) {
	data, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	if string(data) == "null" {
		data = []byte("{}")
	}
	return jsonpatch.MergePatch(data, patch)
}

var errModified = errors.New("the object has been modified")

// patch is a merge patch of all fields except a status subresource. obj becomes the result.
func (h *hub) patch(k kind, obj client.Object, patch client.Patch) error {
	at := client.ObjectKeyFromObject(obj)
	current := h.get(k, at)
	if current == nil {
		return notFound[k]
	}
	if updated, ok := obj.(*workv1.ManifestWork); ok && ofThisVersion(patch) {
		return h.patchWork(at, current.(*workv1.ManifestWork), updated)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	if app, ok := current.(*argocd.Application); ok {
		out, err := patchApplication(app, data)
		if err != nil {
			return err
		}
		return h.stored(k, app, out)
	}
	var meta struct {
		Metadata struct {
			ResourceVersion string    `json:"resourceVersion"`
			UID             types.UID `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return err
	}
	if m := meta.Metadata; m.ResourceVersion != "" && m.ResourceVersion != current.GetResourceVersion() || m.UID != "" && m.UID != current.GetUID() {
		return apierrors.NewConflict(h.resource(k), at.Name, errModified)
	}
	before, err := json.Marshal(current)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	out := reflect.New(reflect.TypeOf(current).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(after, out); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if w, ok := out.(*workv1.ManifestWork); ok {
		w.Status = current.(*workv1.ManifestWork).Status
	}
	return h.stored(k, current, out)
}

// stored checks a change like an API server, and stores the object.
func (h *hub) stored(k kind, before, after client.Object) error {
	added := func(f string) bool { return !slices.Contains(before.GetFinalizers(), f) }
	if before.GetDeletionTimestamp() != nil && slices.ContainsFunc(after.GetFinalizers(), added) {
		return apierrors.NewInvalid(schema.GroupKind{Kind: kindNames[k]}, before.GetName(), nil)
	}
	return h.replace(k, before, after)
}

// patchWork is the result of a patch with the right resource version: the updated work.
func (h *hub) patchWork(at key, current, updated *workv1.ManifestWork) error {
	if updated.ResourceVersion != current.ResourceVersion {
		return apierrors.NewConflict(h.resource(works), at.Name, errModified)
	}
	out := *updated
	out.Status, out.Generation = current.Status, current.Generation
	if err := h.stored(works, current, &out); err != nil {
		return err
	}
	updated.ResourceVersion, updated.Generation, updated.Status = out.ResourceVersion, out.Generation, out.Status
	return nil
}

// ofThisVersion reports whether a patch comes from client.MergeFromWithOptimisticLock. The simulation knows the result
// of such a patch, and the computation would take most of the time.
func ofThisVersion(patch client.Patch) bool {
	v := reflect.ValueOf(patch)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	options := v.Elem().FieldByName("opts")
	return options.IsValid() && options.FieldByName("OptimisticLock").IsValid() && options.FieldByName("OptimisticLock").Bool()
}

// setStatus patches the status of a work like a work agent, with the resource version of the agent's cached work.
func (h *hub) setStatus(seen *workv1.ManifestWork, status *workv1.ManifestWorkStatus) error {
	current, ok := h.get(works, client.ObjectKeyFromObject(seen)).(*workv1.ManifestWork)
	switch {
	case !ok:
		return notFound[works]
	case sameWorkStatus(&seen.Status, status):
		return nil // the agent sends no request
	case current.UID != seen.UID || current.ResourceVersion != seen.ResourceVersion:
		return apierrors.NewConflict(h.resource(works), seen.Name, errModified)
	}
	out := *current
	out.Status = *status
	h.put(works, &out)
	return nil
}

func sameWorkStatus(a, b *workv1.ManifestWorkStatus) bool {
	return slices.Equal(a.Conditions, b.Conditions) &&
		slices.EqualFunc(a.ResourceStatus.Manifests, b.ResourceStatus.Manifests, func(x, y workv1.ManifestCondition) bool {
			return x.ResourceMeta == y.ResourceMeta && slices.Equal(x.Conditions, y.Conditions) &&
				sameValues(x.StatusFeedbacks.Values, y.StatusFeedbacks.Values)
		})
}

// sameValues compares reported values, all of them strings.
func sameValues(a, b []workv1.FeedbackValue) bool {
	return slices.EqualFunc(a, b, func(x, y workv1.FeedbackValue) bool { return x.Name == y.Name && *x.Value.String == *y.Value.String })
}

// setFinalizers writes the finalizers of a work like a work agent.
func (h *hub) setFinalizers(seen *workv1.ManifestWork, finalizers []string) error {
	current, ok := h.get(works, client.ObjectKeyFromObject(seen)).(*workv1.ManifestWork)
	if !ok {
		return notFound[works]
	}
	if current.UID != seen.UID || current.ResourceVersion != seen.ResourceVersion {
		return apierrors.NewConflict(h.resource(works), seen.Name, errModified)
	}
	out := *current
	out.Finalizers = finalizers
	h.put(works, &out)
	return nil
}

// version returns the object for a next version. For Applications and works, both versions share the referenced memory.
// Neither readers nor writers change the shared memory: see TestShared.
func version(of client.Object) client.Object {
	switch o := of.(type) {
	case *argocd.Application:
		out := *o
		return &out
	case *workv1.ManifestWork:
		out := *o
		return &out
	}
	return of.DeepCopyObject().(client.Object)
}

// answer copies an object, or only the metadata, into the object of the caller.
func answer(from client.Object, into client.Object, shared bool) {
	if !shared {
		from = from.DeepCopyObject().(client.Object)
	}
	if m, ok := into.(*metav1.PartialObjectMetadata); ok {
		m.ObjectMeta = *objectMeta(from)
		return
	}
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.SetUID(from.GetUID())
		u.SetDeletionTimestamp(from.GetDeletionTimestamp())
		u.Object["spec"] = specOfSet(from)
		return
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem())
}

func objectMeta(obj client.Object) *metav1.ObjectMeta {
	return obj.(interface{ GetObjectMeta() metav1.Object }).GetObjectMeta().(*metav1.ObjectMeta)
}

// answerList fills a list.
func answerList(found []*item, into client.ObjectList, shared bool) {
	switch list := into.(type) {
	case *argocd.ApplicationList:
		list.Items = itemsOf[argocd.Application](found, shared)
	case *workv1.ManifestWorkList:
		list.Items = itemsOf[workv1.ManifestWork](found, shared)
	case *clusterv1beta2.ManagedClusterSetBindingList:
		list.Items = itemsOf[clusterv1beta2.ManagedClusterSetBinding](found, shared)
	case *clusterv1beta2.ManagedClusterSetList:
		list.Items = itemsOf[clusterv1beta2.ManagedClusterSet](found, shared)
	case *clusterv1beta1.PlacementDecisionList:
		list.Items = itemsOf[clusterv1beta1.PlacementDecision](found, shared)
	default:
		panic(fmt.Sprintf("the simulation does not know %T", into))
	}
}

func itemsOf[T any](found []*item, shared bool) []T {
	out := make([]T, len(found))
	for i, f := range found {
		obj := f.Object
		if !shared {
			obj = obj.DeepCopyObject().(client.Object)
		}
		out[i] = *(any(obj).(*T))
	}
	return out
}

// indexers are the indexes of the caches, by kind and field.
type indexers [kinds]map[string]client.IndexerFunc

// IndexField implements client.FieldIndexer.
func (x *indexers) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	k := kindOf(obj)
	if x[k] == nil {
		x[k] = map[string]client.IndexerFunc{}
	}
	x[k][field] = values
	return nil
}

// has reports whether an object has a value in an index.
func (x *indexers) has(k kind, i *item, field, value string) bool {
	values, ok := i.indexed[field]
	if !ok {
		indexer := x[k][field]
		if indexer == nil {
			panic("no index " + field + " of " + kindNames[k])
		}
		values = indexer(i.Object)
		if i.indexed == nil {
			i.indexed = map[string][]string{}
		}
		i.indexed[field] = values
	}
	return slices.Contains(values, value)
}

// find returns the listed objects in the order of their keys.
func (x *indexers) find(k kind, objects map[key]*item, options []client.ListOption) ([]*item, bool) {
	var o client.ListOptions
	o.ApplyOptions(options)
	var found []*item
	for at, i := range objects {
		if o.Namespace != "" && at.Namespace != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labelsOf(i)) {
			continue
		}
		if o.FieldSelector != nil {
			r := o.FieldSelector.Requirements()[0]
			if !x.has(k, i, r.Field, r.Value) {
				continue
			}
		}
		found = append(found, i)
	}
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *item) int { return compareKeys(client.ObjectKeyFromObject(a), client.ObjectKeyFromObject(b)) })
	}
	return found, o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
}
