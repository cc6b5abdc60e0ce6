package payload

import (
	"encoding/json"
	"strconv"

	"github.com/towline-io/towline/pkg/apis"
)

// answeredFields are annotations that the cluster's Argo CD removes after a refresh. The annotations are not counted.
var answeredFields = []string{apis.AnnotationRefresh, apis.AnnotationHydrate}

// countFields sets AnnotationFields on a payload: the number of fields that the work agent owns after the apply of
// the payload. spec is the number of fields of the spec.
func countFields(meta *metadata, spec int) {
	meta.Annotations[apis.AnnotationFields] = ""
	n := spec + len(meta.Annotations) + len(meta.Labels) + len(meta.Finalizers)
	for _, name := range answeredFields {
		if _, there := meta.Annotations[name]; there {
			n--
		}
	}
	meta.Annotations[apis.AnnotationFields] = strconv.Itoa(n)
}

// recounted returns the manifest of an Application in JSON. An existing AnnotationFields is updated to the present
// number of fields.
func recounted(fields map[string]json.RawMessage) ([]byte, error) {
	meta := metadata{}
	if err := json.Unmarshal(fields["metadata"], &meta); err != nil {
		return nil, err
	}
	before, there := meta.Annotations[apis.AnnotationFields]
	if there {
		countFields(&meta, fieldCount(fields["spec"]))
	}
	if meta.Annotations[apis.AnnotationFields] == before {
		return compact(fields)
	}
	return withMeta(fields, &meta)
}

// fieldCount returns the number of fields of a JSON value, as counted by server-side apply: each value within objects,
// and each empty object. A list counts as 1, because all lists in the CRD of Applications (2.14 and 3.5) are atomic.
func fieldCount(raw []byte) int {
	fields, err := object(raw)
	if err != nil || len(fields) == 0 {
		return 1
	}
	n := 0
	for _, value := range fields {
		n += fieldCount(value)
	}
	return n
}
