package dependencies

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// TestCacheHoldsOnlyMarks: the cache holds almost nothing of the hub's Secrets and ConfigMaps.
func TestCacheHoldsOnlyMarks(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	marked := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		o := objectOf("Secret")
		o.Namespace, o.Name, o.UID, o.ResourceVersion, o.Annotations = "team", "a", "u", "7", annotations
		return o
	}
	for title, tc := range map[string]struct{ annotations, want map[string]string }{
		"no mark":     {map[string]string{"x": long}, nil},
		"a mark":      {map[string]string{"x": long, apis.AnnotationPropagate: "true"}, map[string]string{apis.AnnotationPropagate: "true"}},
		"a long mark": {map[string]string{apis.AnnotationPropagate: long}, map[string]string{apis.AnnotationPropagate: long[:maxMark]}},
	} {
		t.Run(title, func(t *testing.T) {
			o := marked(tc.annotations)
			o.Labels, o.Finalizers = map[string]string{"a": long}, []string{long}
			o.OwnerReferences, o.ManagedFields = []metav1.OwnerReference{{Name: long}}, []metav1.ManagedFieldsEntry{{Manager: long}}
			got, err := marksOnly(o)
			if diff := cmp.Diff(marked(tc.want), got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if got, err := marksOnly("tombstone"); got != "tombstone" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
