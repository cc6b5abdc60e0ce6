package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

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

// Read decodes a bundle from Maestro's REST API. A bundle without a valid work is an error.
func Read(data []byte) (*Bundle, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("a bundle of Maestro: %w", err)
	}
	if a.Metadata.Name == "" || a.Cluster == "" {
		return nil, fmt.Errorf("bundle %q of Maestro has no cluster, or its metadata have no name: another program has written it", a.ID)
	}
	more, err := a.carried()
	if err != nil {
		return nil, fmt.Errorf("the bundle of work %s/%s in Maestro: %w", a.Cluster, a.Metadata.Name, err)
	}
	b := &Bundle{
		Work: a.work(more), ID: a.ID, First: more.First, Version: a.Version, Since: more.Since, Written: more.Written, Shape: more.Shape,
		Sequence: a.Status.Sequence,
	}
	for i, manifest := range a.Manifests {
		if own, ok := more.Instead[i]; ok {
			if b.instead == nil {
				b.instead = map[int]workv1.Manifest{}
			}
			b.instead[i] = manifestOf(manifest)
			manifest = own
		}
		b.Work.Spec.Workload.Manifests = append(b.Work.Spec.Workload.Manifests, manifestOf(manifest))
	}
	b.report(workv1.ManifestWorkStatus{
		Conditions: a.Status.Conditions, ResourceStatus: workv1.ManifestResourceStatus{Manifests: a.Status.Resources},
	})
	return b, nil
}

func manifestOf(raw []byte) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}}
}

// work returns the work without the manifests and the status.
func (a *answer) work(more *carried) *workv1.ManifestWork {
	meta := metav1.ObjectMeta{
		Namespace: a.Cluster, Name: a.Metadata.Name, UID: a.Metadata.UID, Generation: more.Generation,
		CreationTimestamp: metav1.NewTime(a.Created.UTC().Truncate(time.Second)), DeletionTimestamp: a.Deleted,
		Labels: without(a.Metadata.Labels, Label), Annotations: without(a.Metadata.Annotations, Annotation), OwnerReferences: a.Metadata.OwnerReferences,
		// Maestro keeps a deleted bundle until the agent has finished the deletion. Maestro sends no event when the
		// agent begins.
		Finalizers: []string{workv1.ManifestWorkFinalizer},
	}
	if more.Shape > 0 {
		meta.Name, meta.CreationTimestamp = more.Name, more.Created
	}
	spec := more.Spec
	spec.Workload.Manifests = nil
	return &workv1.ManifestWork{ObjectMeta: meta, Spec: spec}
}

// without returns a copy of a map without a key, and nil for an empty copy.
func without(in map[string]string, key string) map[string]string {
	out := maps.Clone(in)
	delete(out, key)
	if len(out) == 0 {
		return nil
	}
	return out
}

// report sets the status of the bundle's work from an agent's status. report converts Maestro's versions in the agent's
// conditions to generations of the work, counted from 1.
func (b *Bundle) report(status workv1.ManifestWorkStatus) {
	b.Work.Status = *status.DeepCopy()
	b.Work.ManagedFields = reported(b.Sequence)
	b.generations(b.Work.Status.Conditions)
	for i := range b.Work.Status.ResourceStatus.Manifests {
		b.generations(b.Work.Status.ResourceStatus.Manifests[i].Conditions)
	}
}

func (b *Bundle) generations(conditions []metav1.Condition) {
	for i := range conditions {
		if conditions[i].ObservedGeneration > 0 {
			conditions[i].ObservedGeneration = b.generation(conditions[i].ObservedGeneration)
		}
	}
}

// generation returns the generation of the spec in a version of the bundle. An agent applies a work after a change of
// the spec, and then reports the version with the change until the next change. For versions before Since, generation
// returns only some lower generation. The same holds for versions between Written and a version raised in the database:
// before a restore, the versions may have had a different spec.
func (b *Bundle) generation(version int64) int64 {
	if b.Since <= version && (version <= b.Written || b.Version <= version) {
		return b.Work.Generation
	}
	return min(b.Work.Generation-1, max(0, version-b.First+1))
}

// WithStatus returns a copy of the bundle and of the work, with a later status.
func (b *Bundle) WithStatus(status *Status) *Bundle {
	out := *b
	work := *b.Work
	out.Work, out.Sequence = &work, status.Sequence
	out.report(status.Status)
	return &out
}
