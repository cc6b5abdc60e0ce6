package dependency

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/work"
)

// fieldManager is the field manager for dependencies. The API requires the prefix. Applications' works have a
// different field manager. To a dependency work, objects of Applications' works on the cluster are foreign.
const fieldManager = workv1.DefaultFieldManager + "-towline"

// TooLargeError is the error for dependencies larger than one ManifestWork.
type TooLargeError struct {
	// Size is the size of all manifests in bytes.
	Size int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the objects have %d bytes together as manifests, and a ManifestWork holds %d", e.Size, work.MaxPayload)
}

// object is a manifest of a dependency work.
type object struct {
	resource workv1.ResourceIdentifier
	manager  string
	manifest any
}

// render returns a dependency work. The work agent applies the work without force, and refuses to overwrite fields of
// other owners.
func render(key types.NamespacedName, kind Kind, objects ...object) (*workv1.ManifestWork, error) {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name,
		Labels: map[string]string{apis.LabelPull: "true", apis.LabelDependency: string(kind)},
	}}
	for _, o := range objects {
		raw, err := payload.Marshal(o.manifest)
		if err != nil {
			return nil, err
		}
		manifest := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}}
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, manifest)
		w.Spec.ManifestConfigs = append(w.Spec.ManifestConfigs, workv1.ManifestConfigOption{
			ResourceIdentifier: o.resource,
			FeedbackScrapeType: workv1.FeedbackPollType, // the default of the API: the agent scrapes no feedback
			UpdateStrategy: &workv1.UpdateStrategy{
				Type:            workv1.UpdateStrategyTypeServerSideApply,
				ServerSideApply: &workv1.ServerSideApplyConfig{FieldManager: o.manager},
			},
		})
	}
	if err := checkSize(w); err != nil {
		return nil, err
	}
	return w, nil
}

// checkSize returns a TooLargeError if the manifests do not fit into one ManifestWork.
func checkSize(w *workv1.ManifestWork) error {
	size := 0
	for i := range w.Spec.Workload.Manifests {
		size += w.Spec.Workload.Manifests[i].Size()
	}
	if size > work.MaxPayload {
		return &TooLargeError{Size: size}
	}
	return nil
}

// payloadMeta has only the metadata for the cluster. ObjectMeta would add a null creationTimestamp.
type payloadMeta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// metaFor returns the metadata of a hub object on the cluster. The marks of the hub's controllers stay on the hub.
func metaFor(obj metav1.Object, namespace, name string) payloadMeta {
	meta := payloadMeta{Namespace: namespace, Name: name, Labels: map[string]string{}, Annotations: argocd.Unmarked(obj.GetAnnotations())}
	maps.Copy(meta.Labels, argocd.Unmarked(obj.GetLabels()))
	meta.Labels[apis.LabelPulled] = "true"
	delete(meta.Annotations, apis.AnnotationPropagate)
	delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
	return meta
}
