package check

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Unlabelled returns whether no controller delivers an Application because the pull label is missing. The hub's Argo CD
// skips the Application, and an annotation names a cluster, or has the key of the label.
func Unlabelled(m *metav1.PartialObjectMetadata) bool {
	if _, labelled := m.Labels[apis.LabelPull]; labelled {
		return false
	}
	_, named := m.Annotations[apis.AnnotationCluster]
	_, misplaced := m.Annotations[apis.LabelPull]
	skipped, err := strconv.ParseBool(m.Annotations[apis.AnnotationSkipReconcile])
	return err == nil && skipped && (named || misplaced)
}

// unlabelled checks for Applications without any delivering controller.
func unlabelled(f *Facts) []Line {
	const name = "pull label"
	switch {
	case f.Unlabelled == nil:
		return []Line{unknown(name, "Applications of all namespaces")}
	case len(f.Unlabelled) == 0:
		return []Line{good(name, "no Application asks for a cluster without the label")}
	}
	return []Line{wrong(name,
		"set the label "+apis.LabelPull+"=true, in the template of the ApplicationSet too. An annotation of this name has no effect",
		"nobody delivers %s: the label %s is missing", some(f.Unlabelled), apis.LabelPull)}
}
