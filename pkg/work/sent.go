package work

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/relay"
)

// Sent are the requests that a work carries.
func Sent(w *workv1.ManifestWork) Requests {
	requests := Requests{Refresh: relay.ParseRefresh(w.Annotations[apis.AnnotationRefreshSent])}
	for _, m := range w.Spec.Workload.Manifests {
		var held struct {
			Operation json.RawMessage `json:"operation"`
		}
		if json.Unmarshal(m.Raw, &held) == nil && len(held.Operation) > 0 {
			requests.Operation = held.Operation
		}
	}
	return requests
}
