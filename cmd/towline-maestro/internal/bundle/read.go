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

// Read reads a bundle of Maestro's REST API. The error says what of it is no work.
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

// work is the work without its manifests and its status.
func (a *answer) work(more *carried) *workv1.ManifestWork {
	meta := metav1.ObjectMeta{
		Namespace: a.Cluster, Name: a.Metadata.Name, UID: a.Metadata.UID, Generation: more.Generation,
		CreationTimestamp: metav1.NewTime(a.Created.UTC().Truncate(time.Second)), DeletionTimestamp: a.Deleted,
		Labels: without(a.Metadata.Labels, Label), Annotations: without(a.Metadata.Annotations, Annotation), OwnerReferences: a.Metadata.OwnerReferences,
		// Maestro keeps a deleted bundle until the agent has dealt with it. When the agent begins, nobody is told.
		Finalizers: []string{workv1.ManifestWorkFinalizer},
	}
	if more.Shape > 0 {
		meta.Name, meta.CreationTimestamp = more.Name, more.Created
	}
	spec := more.Spec
	spec.Workload.Manifests = nil
	return &workv1.ManifestWork{ObjectMeta: meta, Spec: spec}
}

// without is a map without one of its keys, and nil where it has no other.
func without(in map[string]string, key string) map[string]string {
	out := maps.Clone(in)
	delete(out, key)
	if len(out) == 0 {
		return nil
	}
	return out
}

// report takes what an agent says of the bundle's work. Agents count by Maestro's versions, and works by generations from 1.
func (b *Bundle) report(said workv1.ManifestWorkStatus) {
	b.Work.Status = *said.DeepCopy()
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

// generation is that of the spec which a version had. An agent applies a work when its spec changes, and goes on to name the version of
// that. Of earlier versions it is only said that they are earlier, and so of versions between what was written last and what somebody
// made of that in the database: before a restore they may have had another spec.
func (b *Bundle) generation(version int64) int64 {
	if b.Since <= version && (version <= b.Written || b.Version <= version) {
		return b.Work.Generation
	}
	return min(b.Work.Generation-1, max(0, version-b.First+1))
}

// With is the bundle with a later status; its work is another object.
func (b *Bundle) With(said *Status) *Bundle {
	out := *b
	work := *b.Work
	out.Work, out.Sequence = &work, said.Sequence
	out.report(said.Status)
	return &out
}
