package payload

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
	"github.com/towline-io/towline/pkg/source"
)

// Read returns the Application in a manifest, with metadata and spec. The result is nil for an unreadable manifest and
// for a manifest of a different kind. The returned object is shared: callers must not change the object.
func Read(raw []byte) *argocd.Application { return read(raw) }

var read = memo.Of(func(raw []byte) *argocd.Application {
	var held struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              runtime.RawExtension `json:"spec"`
	}
	if json.Unmarshal(raw, &held) != nil || held.Kind != argocd.Kind || held.GroupVersionKind().Group != argocd.GroupVersion.Group {
		return nil
	}
	return &argocd.Application{TypeMeta: held.TypeMeta, ObjectMeta: held.ObjectMeta, Spec: held.Spec}
})

// manifest is a manifest, with its metadata and annotations.
type manifest struct {
	fields, metadata, annotations map[string]json.RawMessage
}

// decodeManifest decodes a manifest as far as functions of this file change manifests.
func decodeManifest(raw []byte) (m manifest, err error) {
	if m.fields, err = object(raw); err == nil {
		m.metadata, err = object(m.fields["metadata"])
	}
	if err == nil {
		m.annotations, err = object(m.metadata["annotations"])
	}
	return m, err
}

// encode returns the changed manifest, with the present number of fields.
func (m manifest) encode() ([]byte, error) {
	setObject(m.metadata, "annotations", m.annotations)
	m.fields["metadata"] = jsonOf(m.metadata)
	return recounted(m.fields)
}

// SetFinalizers returns a manifest with exactly the given finalizers. mark is the value of AnnotationFinalizersDropped;
// an empty mark is removed.
func SetFinalizers(raw []byte, finalizers []string, mark string) ([]byte, error) {
	m, err := decodeManifest(raw)
	if err != nil {
		return nil, err
	}
	_, has := m.metadata["finalizers"]
	_, marked := m.annotations[apis.AnnotationFinalizersDropped]
	if !has && !marked && len(finalizers) == 0 && mark == "" {
		return raw, nil
	}
	setText(m.annotations, apis.AnnotationFinalizersDropped, mark)
	delete(m.metadata, "finalizers")
	if len(finalizers) > 0 {
		texts := make([]json.RawMessage, len(finalizers))
		for i, f := range finalizers {
			texts[i] = quoted(f)
		}
		m.metadata["finalizers"] = listOf(texts)
	}
	return m.encode()
}

// Unmark returns a manifest without marks of the hub's controllers (argocd.IsMark). others are the keys of further
// labels with the role of a mark on this hub. The bytes of a manifest without marks stay the same.
func Unmark(raw []byte, others []string) ([]byte, error) {
	m, err := decodeManifest(raw)
	if err != nil {
		return nil, err
	}
	labels, err := object(m.metadata["labels"])
	if err != nil {
		return nil, err
	}
	before := len(m.annotations) + len(labels)
	m.annotations, labels = argocd.Unmarked(m.annotations), argocd.Unmarked(labels)
	for _, key := range others {
		delete(labels, key)
	}
	if len(m.annotations)+len(labels) == before {
		return raw, nil
	}
	setObject(m.metadata, "labels", labels)
	return m.encode()
}

// Unmarked reports whether a manifest has no finalizers, no mark of the hub's controllers, and no mark from SetFinalizers.
func Unmarked(raw []byte) bool {
	var m struct {
		Metadata struct {
			Annotations map[string]json.RawMessage
			Labels      json.RawMessage
			Finalizers  json.RawMessage
		}
	}
	if json.Unmarshal(raw, &m) != nil {
		return false
	}
	_, marked := m.Metadata.Annotations[apis.AnnotationFinalizersDropped]
	labels, err := object(m.Metadata.Labels)
	return !marked && len(m.Metadata.Finalizers) == 0 &&
		(err != nil || !argocd.AnyMark(m.Metadata.Annotations) && !argocd.AnyMark(labels)) // as in Unmark
}

// ReadDirectly returns a manifest with the addresses of known repositories in place of their addresses at the
// cluster's agent.
func ReadDirectly(raw []byte, known source.Known) ([]byte, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	spec, err := object(fields["spec"])
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if err := known.Back(spec); err != nil {
		return nil, fmt.Errorf("spec.%w", err)
	}
	fields["spec"] = jsonOf(spec)
	return jsonOf(fields), nil
}

// RunsByItself reports whether the Argo CD of the cluster deploys or hydrates new commits without a request. app has
// the form for the cluster.
func RunsByItself(app *argocd.Application) bool {
	return automated(app.Spec.Raw) || argocd.Hydrates(app.Spec.Raw)
}

// Freeze returns the manifest of an Application without automated sync and hydration, and with AnnotationFrozen.
func Freeze(raw []byte) ([]byte, error) {
	m, err := decodeManifest(raw)
	spec, errSpec := object(m.fields["spec"])
	if err := errors.Join(err, errSpec, unautomated(spec), dehydrated(spec)); err != nil {
		return nil, err
	}
	setText(m.annotations, apis.AnnotationFrozen, "true")
	m.fields["spec"] = jsonOf(spec)
	return m.encode()
}

// unautomated removes the automated sync from a spec.
func unautomated(spec map[string]json.RawMessage) error {
	policy, err := object(spec["syncPolicy"])
	if err != nil || policy["automated"] == nil {
		return err
	}
	delete(policy, "automated")
	setObject(spec, "syncPolicy", policy)
	return nil
}

// dehydrated replaces the hydrator in a spec with the source that Argo CD (2.14 to 3.5) uses for the comparison: the
// branch and the path of the hydrated manifests.
func dehydrated(spec map[string]json.RawMessage) error {
	hydrator, err := object(spec["sourceHydrator"])
	if err != nil || len(hydrator) == 0 {
		return err
	}
	dry, errDry := object(hydrator["drySource"])
	sync, errSync := object(hydrator["syncSource"])
	if err := errors.Join(errDry, errSync); err != nil {
		return err
	}
	source := map[string]json.RawMessage{}
	for to, from := range map[string]json.RawMessage{
		"repoURL": or(sync["repoURL"], dry["repoURL"]), "path": sync["path"], "targetRevision": sync["targetBranch"],
	} {
		if len(from) > 0 {
			source[to] = from
		}
	}
	delete(spec, "sourceHydrator")
	spec["source"] = jsonOf(source)
	return nil
}

// or returns a, or b if a is missing, empty or null.
func or(a, b json.RawMessage) json.RawMessage {
	if len(a) == 0 || string(a) == `""` || string(a) == "null" {
		return b
	}
	return a
}
