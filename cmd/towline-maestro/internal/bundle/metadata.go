package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Annotation holds, in the metadata of a bundle, what Maestro has no place for. It is not shown on the work.
const Annotation = "maestro.towline.io/work"

// Label holds, in the metadata of a bundle, the first version that had its spec. It is not shown on the work.
//
// An agent applies a work, and says so, when its spec or its labels differ from those that it has. If a work is changed and changed back
// within moments, Maestro may send the last spec alone, which the agent has. The label is another even then.
const Label = "maestro.towline.io/since"

// carried is what that annotation has.
type carried struct {
	// Spec is the work's, without its manifests.
	Spec workv1.ManifestWorkSpec `json:"spec"`

	// First is the version of the work's first spec.
	First int64 `json:"first"`

	// Generation is that of the spec, Since the first version that had it, and Written the version that this write is to come to.
	Generation int64 `json:"generation"`
	Since      int64 `json:"since"`
	Written    int64 `json:"written"`

	// Instead has, by their place, the work's manifests in place of which agents get others.
	Instead map[int]json.RawMessage `json:"instead,omitempty"`

	// Shape counts the bundles of the work. Beyond the first, Name is the work's name, and Created the time of its creation: on the
	// cluster each bundle has a name of its own.
	Shape   int         `json:"shape,omitempty"`
	Name    string      `json:"name,omitempty"`
	Created metav1.Time `json:"created,omitzero"`
}

// metadata is what travels beside the manifests of a work. It is all that an agent reads of the work's metadata.
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

// carried reads the annotation. A bundle of another program has none.
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

// older reads what Maestro's own types have of a spec.
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
