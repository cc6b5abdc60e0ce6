package bundle

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/bwmarrin/snowflake"
	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// epoch is when versions begin. Maestro's have 31 bits, which are enough for 68 years of seconds.
var epoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// A Bundle is what Maestro has of a work.
type Bundle struct {
	// Work is the work as the Kubernetes API shows it, but for its resourceVersion.
	Work *workv1.ManifestWork

	// ID is the id of the bundle in Maestro: see IDs.
	ID string

	// First is the version in Maestro of the work's first spec, which is generation 1.
	First int64

	// Version is the bundle's version in Maestro, which counts every write.
	Version int64

	// Since is the first version with the spec as it is, and Written the version that the last write was to come to. Version is
	// higher only where somebody has raised it in the database, and lower while a write is repeated that Maestro has lost.
	Since, Written int64

	// Shape counts the bundles that the work has had: see SameShape.
	Shape int

	// Sequence orders the statuses of a work: a decimal number, or empty before the first.
	Sequence string

	// Told is when this process was first told of the operation that began last on the cluster: see Began.
	Told time.Time

	instead map[int]workv1.Manifest // which agents get in place of the work's: see translate
}

// New is the first bundle of a new work.
func New(ids IDs, w *workv1.ManifestWork, now time.Time) *Bundle {
	first := FirstVersion(now)
	w.Generation = 1
	id := ids.Of(types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, 0)
	return &Bundle{Work: w, ID: id, First: first, Version: first, Since: first, Written: first}
}

// Next is the bundle after a write that gives its work other labels, annotations, owners or another spec. It begins a new generation
// if the spec is another: of no other write will an agent say that it has applied it. The error is a *Refusal, or says that the spec has
// an operation for another version of an Application than the one that the agent has told of.
func (b *Bundle) Next(ids IDs, w *workv1.ManifestWork) (*Bundle, error) {
	instead, err := translate(&w.Spec, &b.Work.Status)
	if err != nil {
		return nil, err
	}
	out := b.next(w)
	out.instead = instead
	if !SameShape(&b.Work.Spec, &w.Spec) {
		out.toShape(b.Shape+1, ids)
	}
	return out, nil
}

func (b *Bundle) next(w *workv1.ManifestWork) *Bundle {
	out := b.At(b.Version + 1)
	out.Work = w
	w.Generation = b.Work.Generation
	if !sameJSON(&b.Work.Spec, &w.Spec) {
		w.Generation++
		out.Since = out.Version
	}
	return out
}

// At is the bundle as it is, written with another version.
func (b *Bundle) At(version int64) *Bundle {
	out := *b
	out.Version, out.Written = version, version
	return &out
}

// Again is the bundle as it is, written so that the agent heeds it once more: see Label.
func (b *Bundle) Again() *Bundle {
	out := b.At(b.Version + 1)
	out.Since = out.Version
	out.Work = b.Work.DeepCopy()
	return out
}

// Name is the name of the bundle's work.
func (b *Bundle) Name() types.NamespacedName {
	return types.NamespacedName{Namespace: b.Work.Namespace, Name: b.Work.Name}
}

// FirstVersion is the version of the first spec of a new work. It follows from the time, in seconds: what an agent says of an earlier
// work of the same name is about a lower version, and Maestro takes it for no word about this one.
func FirstVersion(now time.Time) int64 { return max(1, int64(now.Sub(epoch)/time.Second)) }

// Event is the CloudEvent that asks Maestro for a bundle as it is, or to delete it. An update names the version before, from which
// Maestro counts.
func Event(source string, action cetypes.EventAction, b *Bundle) (*cloudevents.Event, error) {
	meta, err := b.metadata(source)
	if err != nil {
		return nil, err
	}
	kind := cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: cetypes.SubResourceSpec, Action: action,
	}
	version := b.Version
	if action == cetypes.UpdateRequestAction {
		version--
	}
	event := cloudevents.NewEvent()
	event.SetID(uuid.NewString())
	event.SetSource(source)
	event.SetType(kind.String())
	event.SetTime(time.Now())
	event.SetExtension(cetypes.ExtensionClusterName, b.Work.Namespace)
	event.SetExtension(cetypes.ExtensionResourceID, b.ID)
	event.SetExtension(cetypes.ExtensionResourceVersion, version)
	event.SetExtension(cetypes.ExtensionWorkMeta, meta)
	data := bundleOf(b.sent())
	if action == cetypes.DeleteRequestAction {
		event.SetExtension(cetypes.ExtensionDeletionTimestamp, time.Now())
		data = payload.ManifestBundle{}
	}
	if err := event.SetData(cloudevents.ApplicationJSON, data); err != nil {
		return nil, fmt.Errorf("work %s: %w", b.Name(), err)
	}
	return &event, event.Validate()
}

// bundleOf is a spec as agents read it.
func bundleOf(spec *workv1.ManifestWorkSpec) payload.ManifestBundle {
	return payload.ManifestBundle{
		Manifests: spec.Workload.Manifests, DeleteOption: spec.DeleteOption, ManifestConfigs: spec.ManifestConfigs, Executer: spec.Executor,
	}
}

// Newer tells whether a status comes after another one. A sequence that is no number comes after none.
func Newer(sequence, than string) bool {
	a, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseInt(than, 10, 64)
	return err != nil || a > b
}

// reported is the entry of a work's managed fields that says when its agent last spoke, by the agent's clock: nil if it has not. The
// Kubernetes API keeps such an entry for whoever writes a status.
func reported(sequence string) []metav1.ManagedFieldsEntry {
	id, err := snowflake.ParseString(sequence)
	if err != nil {
		return nil
	}
	said := metav1.NewTime(time.UnixMilli(id.Time()).UTC().Truncate(time.Second))
	return []metav1.ManagedFieldsEntry{{
		Manager: "work-agent", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: workv1.GroupVersion.String(), Subresource: "status",
		Time: &said, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")},
	}}
}

// jsonOf is for what can always be encoded.
func jsonOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
