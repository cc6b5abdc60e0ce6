package bench

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// wants is a work's request to a cluster's Argo CD: a revision by the number of its change, and a sync by its identity.
type wants struct {
	number    int
	operation string
}

// wantedBy returns the request of a work. With an operation in the work, only the operation counts.
func wantedBy(spec *workv1.ManifestWorkSpec) wants {
	var app struct {
		Kind string `json:"kind"`
		Spec struct {
			Source struct {
				TargetRevision string `json:"targetRevision"`
			} `json:"source"`
		} `json:"spec"`
		Operation json.RawMessage `json:"operation"`
	}
	for _, m := range spec.Workload.Manifests {
		if json.Unmarshal(m.Raw, &app) != nil || app.Kind != argocd.Kind {
			continue
		}
		var operation struct {
			Sync struct {
				Revision string `json:"revision"`
			} `json:"sync"`
		}
		if len(app.Operation) > 0 && json.Unmarshal(app.Operation, &operation) == nil {
			return wants{numberOf(operation.Sync.Revision), relay.ID(app.Operation)}
		}
		return wants{number: numberOf(app.Spec.Source.TargetRevision)}
	}
	return wants{}
}
