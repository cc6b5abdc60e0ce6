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

// epoch is the time of version 0. Maestro's versions have 31 bits, enough for 68 years of seconds.
var epoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// A Bundle is the state of a work in Maestro.
type Bundle struct {
	// Work is the work for the Kubernetes API, without the resourceVersion.
	Work *workv1.ManifestWork

	// ID is the id of the bundle in Maestro: see IDs.
	ID string

	// First is the version in Maestro of the work's first spec (generation 1).
	First int64

	// Version is the bundle's version in Maestro. Every write increases the version.
	Version int64

	// Since is the first version with the present spec. Written is the expected version after the last write. Version
	// is higher than Written only if a person has raised the version in the database. Version is lower than Written
	// while the mirror repeats a write lost by Maestro.
	Since, Written int64

	// Shape is the number of earlier bundles of the work: see SameShape.
	Shape int

	// Sequence orders the statuses of a work: a decimal number, or empty before the first.
	Sequence string

	// Told is the time when the process first learned of the last begun operation on the cluster: see Began.
	Told time.Time

	instead map[int]workv1.Manifest // the manifests for agents in place of the work's manifests, by index: see translate
}

// New returns the first bundle of a new work, and sets the generation of the work to 1.
func New(ids IDs, w *workv1.ManifestWork, now time.Time) *Bundle {
	first := FirstVersion(now)
	w.Generation = 1
	id := ids.Of(types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, 0)
	return &Bundle{Work: w, ID: id, First: first, Version: first, Since: first, Written: first}
}

// Next returns the bundle after a write of w: the work with new labels, annotations, owners or a new spec. Only a new
// spec begins a new generation, because an agent does not report other writes as applied. A spec with other objects
// gets the next shape and a new id.
//
// The error is a *Refusal, or errStale: the spec has an operation for a version of an Application, and the agent has
// reported a different version.
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
	out := b.WithVersion(b.Version + 1)
	out.Work = w
	w.Generation = b.Work.Generation
	if !sameJSON(&b.Work.Spec, &w.Spec) {
		w.Generation++
		out.Since = out.Version
	}
	return out
}

// WithVersion returns a copy of the bundle for a write of the same content with the given version.
func (b *Bundle) WithVersion(version int64) *Bundle {
	out := *b
	out.Version, out.Written = version, version
	return &out
}

// Reapplied returns the same bundle with a new version and a new value of Label, so that the agent applies the bundle
// again.
func (b *Bundle) Reapplied() *Bundle {
	out := b.WithVersion(b.Version + 1)
	out.Since = out.Version
	out.Work = b.Work.DeepCopy()
	return out
}

// Name returns the namespace and name of the bundle's work.
func (b *Bundle) Name() types.NamespacedName {
	return types.NamespacedName{Namespace: b.Work.Namespace, Name: b.Work.Name}
}

// FirstVersion returns the version of the first spec of a new work: the seconds since epoch, at least 1. An agent's
// report on an earlier work of the same name has a lower version, so Maestro does not accept the report for the new
// work.
func FirstVersion(now time.Time) int64 { return max(1, int64(now.Sub(epoch)/time.Second)) }

// Event returns the CloudEvent that asks Maestro to create, update or delete the bundle. The event of an update has the
// previous version, because Maestro counts from the previous version.
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

// bundleOf returns a spec in the format for agents.
func bundleOf(spec *workv1.ManifestWorkSpec) payload.ManifestBundle {
	return payload.ManifestBundle{
		Manifests: spec.Workload.Manifests, DeleteOption: spec.DeleteOption, ManifestConfigs: spec.ManifestConfigs, Executer: spec.Executor,
	}
}

// Newer tells whether the status with the first sequence is later than the status with the second sequence. A sequence
// that is not a number is never later. Every number is later than a sequence that is not a number.
func Newer(sequence, than string) bool {
	a, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseInt(than, 10, 64)
	return err != nil || a > b
}

// reported returns a managed fields entry with the time of the agent's last status, by the clock of the agent. The
// result is nil before the first status. The Kubernetes API keeps an equal entry for each writer of a status.
func reported(sequence string) []metav1.ManagedFieldsEntry {
	id, err := snowflake.ParseString(sequence)
	if err != nil {
		return nil
	}
	said := metav1.NewTime(time.UnixMilli(id.Time()).UTC().Truncate(time.Second))
	return []metav1.ManagedFieldsEntry{{
		Manager: "work-agent", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: workv1.GroupVersion.String(), Subresource: "status",
		Time: &said, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"),
	}}
}

// jsonOf returns v as JSON text. The encoding fails only if a manifest in v is not valid JSON.
func jsonOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
