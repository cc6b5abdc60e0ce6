package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Annotation is an annotation in the metadata of a bundle, for the data without a field in Maestro. The work on the hub
// does not have the annotation.
const Annotation = "maestro.towline.io/work"

// Label is a label in the metadata of a bundle, with the first version of the present spec. The work on the hub does
// not have the label.
//
// An agent applies a work, and reports on the work, if the spec or the labels differ from the applied spec and labels.
// After a quick change of a work and a quick change back, Maestro may send only the last spec, and the agent already
// has the last spec. The label is different even in this case.
const Label = "maestro.towline.io/since"

// carried is the content of the annotation Annotation.
type carried struct {
	// Spec is the work's spec without the manifests.
	Spec workv1.ManifestWorkSpec `json:"spec"`

	// First is the version of the work's first spec.
	First int64 `json:"first"`

	// Generation is the generation of the spec. Since is the first version with the spec. Written is the expected
	// version after the write.
	Generation int64 `json:"generation"`
	Since      int64 `json:"since"`
	Written    int64 `json:"written"`

	// Instead are the work's manifests with a replacement for agents, by index.
	Instead map[int]json.RawMessage `json:"instead,omitempty"`

	// Shape is the number of earlier bundles of the work. After the first bundle, Name is the work's name, and Created
	// is the creation time of the work, because each bundle has a separate name on the cluster.
	Shape   int         `json:"shape,omitempty"`
	Name    string      `json:"name,omitempty"`
	Created metav1.Time `json:"created,omitzero"`
}

// metadata returns the metadata for the CloudEvent of a bundle, as JSON. An agent reads no further metadata of the
// work.
func (b *Bundle) metadata(source string) (string, error) {
	w := b.Work
	more := carried{Spec: w.Spec, First: b.First, Generation: w.Generation, Since: b.Since, Written: b.Written, Shape: b.Shape}
	more.Spec.Workload.Manifests = nil
	more.Instead = map[int]json.RawMessage{}
	for i := range b.instead {
		more.Instead[i] = raw(&w.Spec.Workload.Manifests[i])
	}
	meta := metav1.ObjectMeta{
		Namespace: w.Namespace, Name: w.Name, UID: w.UID, OwnerReferences: w.OwnerReferences,
		Labels: map[string]string{}, Annotations: map[string]string{},
	}
	if b.Shape > 0 {
		more.Name, more.Created = w.Name, w.CreationTimestamp
		meta.Name = PublicName(source, b.Name(), b.Shape)
	}
	maps.Copy(meta.Labels, w.Labels)
	meta.Labels[Label] = strconv.FormatInt(b.Since, 10)
	maps.Copy(meta.Annotations, w.Annotations)
	var err error
	if meta.Annotations[Annotation], err = jsonOf(more); err != nil {
		return "", err
	}
	return jsonOf(meta)
}

// carried reads the annotation Annotation. A bundle of a foreign program has no annotation: carried then uses the
// fields of Maestro's API. An annotation not matching the version is an error.
func (a *answer) carried() (*carried, error) {
	text, ok := a.Metadata.Annotations[Annotation]
	if !ok {
		out := &carried{First: 1, Generation: a.Version, Since: a.Version, Written: a.Version}
		return out, a.older(&out.Spec)
	}
	out := &carried{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
	}
	if out.Shape < 0 || out.Shape > 0 && out.Name == "" || out.Generation < 1 ||
		out.First > a.Version || out.First > out.Since || out.Since > out.Written {
		return nil, fmt.Errorf("annotation %s: %q does not go with version %d", Annotation, text, a.Version)
	}
	return out, nil
}

// older reads the parts of a spec known to Maestro's types: the manifest configs and the delete option.
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
