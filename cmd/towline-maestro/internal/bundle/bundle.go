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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// Rest is the annotation by which the metadata of a bundle has what of the work's spec is not a manifest.
const Rest = "maestro.towline.io/spec"

// names is the namespace of the ids of bundles.
var names = uuid.MustParse("5f2c1c0e-64c0-4a53-9f1c-6f1f3f0f5a61")

// A Bundle is what Maestro has of a work.
type Bundle struct {
	// Work is the work as the Kubernetes API shows it, but for its resourceVersion. Its generation is the version of its spec in
	// Maestro: agents say of this number which spec their conditions are about.
	Work *workv1.ManifestWork

	// Sequence orders the statuses of a work: a decimal number, or empty before the first.
	Sequence string
}

// ID is Maestro's id of a bundle.
func (b *Bundle) ID(source string) string {
	return ID(source, types.NamespacedName{Namespace: b.Work.Namespace, Name: b.Work.Name})
}

// ID is the id in Maestro of a source's work with that name. It follows from the name, so that a name cannot be taken twice.
func ID(source string, work types.NamespacedName) string {
	return uuid.NewSHA1(names, []byte(source+"/"+work.String())).String()
}

// FirstVersion is the version of the spec of a new work. It follows from the time, in seconds: what an agent says of an earlier
// work of the same name is about a lower version, and Maestro takes it for no word about this one.
func FirstVersion(now time.Time) int64 { return now.Unix() }

// Event is the CloudEvent that asks Maestro for a change of a work. For an update the work's generation is the version that
// Maestro has.
func Event(source string, action cetypes.EventAction, w *workv1.ManifestWork) (*cloudevents.Event, error) {
	meta, err := metadata(w)
	if err != nil {
		return nil, err
	}
	kind := cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: cetypes.SubResourceSpec, Action: action,
	}
	event := cloudevents.NewEvent()
	event.SetID(uuid.NewString())
	event.SetSource(source)
	event.SetType(kind.String())
	event.SetTime(time.Now())
	event.SetExtension(cetypes.ExtensionClusterName, w.Namespace)
	event.SetExtension(cetypes.ExtensionResourceID, ID(source, types.NamespacedName{Namespace: w.Namespace, Name: w.Name}))
	event.SetExtension(cetypes.ExtensionResourceVersion, w.Generation)
	event.SetExtension(cetypes.ExtensionWorkMeta, meta)
	data := bundleOf(&w.Spec)
	if action == cetypes.DeleteRequestAction {
		event.SetExtension(cetypes.ExtensionDeletionTimestamp, time.Now())
		data = payload.ManifestBundle{}
	}
	if err := event.SetData(cloudevents.ApplicationJSON, data); err != nil {
		return nil, fmt.Errorf("work %s/%s: %w", w.Namespace, w.Name, err)
	}
	return &event, nil
}

// bundleOf is a spec as agents read it.
func bundleOf(spec *workv1.ManifestWorkSpec) payload.ManifestBundle {
	return payload.ManifestBundle{
		Manifests: spec.Workload.Manifests, DeleteOption: spec.DeleteOption, ManifestConfigs: spec.ManifestConfigs, Executer: spec.Executor,
	}
}

// metadata is what travels beside the manifests of a work.
func metadata(w *workv1.ManifestWork) (string, error) {
	spec := w.Spec
	spec.Workload.Manifests = nil
	rest, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	meta := metav1.ObjectMeta{
		Namespace: w.Namespace, Name: w.Name, UID: w.UID, Labels: w.Labels, Annotations: map[string]string{Rest: string(rest)},
		OwnerReferences: w.OwnerReferences,
	}
	for key, value := range w.Annotations {
		if key != Rest {
			meta.Annotations[key] = value
		}
	}
	data, err := json.Marshal(meta)
	return string(data), err
}

// answer is a bundle in Maestro's REST API.
type answer struct {
	ID           string            `json:"id"`
	Cluster      string            `json:"consumer_name"`
	Version      int64             `json:"version"`
	Created      metav1.Time       `json:"created_at"`
	Deleted      *metav1.Time      `json:"deleted_at"`
	Metadata     metav1.ObjectMeta `json:"metadata"`
	Manifests    []json.RawMessage `json:"manifests"`
	Configs      json.RawMessage   `json:"manifest_configs"`
	DeleteOption json.RawMessage   `json:"delete_option"`
	Status       struct {
		Sequence   string `json:"SequenceID"`
		Conditions []metav1.Condition
		Resources  []workv1.ManifestCondition `json:"resourceStatus"`
	} `json:"status"`
}

// Read reads a bundle of Maestro's REST API. The error says what of it is no work.
func Read(data []byte) (*Bundle, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("a bundle of Maestro: %w", err)
	}
	if a.Metadata.Name == "" || a.Cluster == "" {
		return nil, fmt.Errorf("bundle %q of Maestro has no cluster, or its metadata have no name: another program has written it", a.ID)
	}
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.Cluster, Name: a.Metadata.Name, UID: a.Metadata.UID, Generation: a.Version,
		CreationTimestamp: metav1.NewTime(a.Created.UTC().Truncate(time.Second)), DeletionTimestamp: a.Deleted,
		Labels: a.Metadata.Labels, Annotations: a.Metadata.Annotations, OwnerReferences: a.Metadata.OwnerReferences,
		// Maestro keeps a deleted bundle until the agent has dealt with it. When the agent begins, nobody is told.
		Finalizers: []string{workv1.ManifestWorkFinalizer},
	}}
	if err := a.spec(&w.Spec); err != nil {
		return nil, fmt.Errorf("bundle %q of Maestro: %w", a.ID, err)
	}
	delete(w.Annotations, Rest)
	if len(w.Annotations) == 0 {
		w.Annotations = nil
	}
	w.ManagedFields = Reported(a.Status.Sequence)
	w.Status = workv1.ManifestWorkStatus{
		Conditions: a.Status.Conditions, ResourceStatus: workv1.ManifestResourceStatus{Manifests: a.Status.Resources},
	}
	return &Bundle{Work: w, Sequence: a.Status.Sequence}, nil
}

// Reported is the entry of a work's managed fields that says when its agent last spoke, by the agent's clock: nil if it has not. The
// Kubernetes API keeps such an entry for whoever writes a status.
func Reported(sequence string) []metav1.ManagedFieldsEntry {
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

// spec puts a spec together again.
func (a *answer) spec(spec *workv1.ManifestWorkSpec) error {
	if rest, ok := a.Metadata.Annotations[Rest]; ok {
		if err := json.Unmarshal([]byte(rest), spec); err != nil {
			return fmt.Errorf("annotation %s: %w", Rest, err)
		}
		spec.Workload.Manifests = nil
	} else if err := a.older(spec); err != nil {
		return err
	}
	for _, manifest := range a.Manifests {
		spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: manifest}})
	}
	return nil
}

// older reads what Maestro's own types have of a spec, for a bundle without the annotation.
func (a *answer) older(spec *workv1.ManifestWorkSpec) error {
	if len(a.Configs) > 0 {
		if err := json.Unmarshal(a.Configs, &spec.ManifestConfigs); err != nil {
			return fmt.Errorf("manifest_configs: %w", err)
		}
	}
	if len(a.DeleteOption) > 0 && string(a.DeleteOption) != "{}" && string(a.DeleteOption) != "null" {
		if err := json.Unmarshal(a.DeleteOption, &spec.DeleteOption); err != nil {
			return fmt.Errorf("delete_option: %w", err)
		}
	}
	return nil
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
