package work

import (
	"encoding/json"
	"strconv"

	"github.com/towline-io/towline/pkg/apis"
)

// answeredFields are annotations that the cluster's Argo CD removes when it has answered a refresh. They are not counted.
var answeredFields = []string{apis.AnnotationRefresh, apis.AnnotationHydrate}

// countFields sets AnnotationFields on a payload: how many fields the work agent owns once it has applied the payload. spec is the number of
// fields of the spec.
func countFields(meta *payloadMetadata, spec int) {
	meta.Annotations[apis.AnnotationFields] = ""
	n := spec + len(meta.Annotations) + len(meta.Labels) + len(meta.Finalizers)
	for _, name := range answeredFields {
		if _, there := meta.Annotations[name]; there {
			n--
		}
	}
	meta.Annotations[apis.AnnotationFields] = strconv.Itoa(n)
}

// recounted returns the manifest of an Application in JSON. If the manifest has AnnotationFields, the annotation has the number of the
// fields that the manifest has now.
func recounted(fields map[string]json.RawMessage) ([]byte, error) {
	meta := payloadMetadata{}
	if err := json.Unmarshal(fields["metadata"], &meta); err != nil {
		return nil, err
	}
	before, there := meta.Annotations[apis.AnnotationFields]
	if there {
		countFields(&meta, leaves(fields["spec"]))
	}
	if meta.Annotations[apis.AnnotationFields] == before {
		return Marshal(fields)
	}
	return withMeta(fields, &meta)
}

// leaves is how many fields of a JSON value server-side apply tells apart: each value within objects, and each empty object. A list is
// one: the CRD of Applications (2.14 and 3.5) has atomic lists only.
func leaves(raw []byte) int {
	fields, err := object(raw)
	if err != nil || len(fields) == 0 {
		return 1
	}
	n := 0
	for _, value := range fields {
		n += leaves(value)
	}
	return n
}
