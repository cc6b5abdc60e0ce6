package steer

import (
	"encoding/json"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// Orphan is a ManifestWork whose Application the hub has lost. All of it is what a cluster may have written.
type Orphan struct {
	// Cluster and Work name the ManifestWork.
	Cluster string `json:"cluster"`
	Work    string `json:"work"`

	// Application is the namespace and name of the Application that it says it was made for.
	Application string `json:"application"`

	// Set is the namespace and name of the ApplicationSet; empty for none.
	Set string `json:"applicationSet,omitempty"`

	// Since is when Towline found that the Application was lost; zero where that cannot be read.
	Since time.Time `json:"since,omitzero"`

	// Decided is what somebody has decided: adopt, delete or hold; empty for nothing yet.
	Decided string `json:"decided,omitempty"`

	// Left is set where it is being released or deleted already.
	Left bool `json:"underWay,omitempty"`
}

// OrphanOf is what a work says as one whose Application the hub has lost; nil for any other work.
func OrphanOf(w *workv1.ManifestWork) *Orphan {
	at := w.Annotations[apis.AnnotationOrphanedAt]
	if at == "" {
		return nil
	}
	since, err := time.Parse(time.RFC3339, at)
	if err != nil {
		since = time.Time{}
	}
	return &Orphan{
		Cluster: w.Namespace, Work: w.Name,
		Application: w.Annotations[apis.AnnotationHubNamespace] + "/" + w.Annotations[apis.AnnotationHubName],
		Set:         w.Annotations[apis.AnnotationApplicationSet],
		Since:       since, Decided: w.Annotations[apis.AnnotationOrphaned],
		Left: w.DeletionTimestamp != nil || work.Released(w),
	}
}

// Decide is the change of an orphaned work that decides for it: adopt lets the cluster keep the Application, and delete takes it
// off the cluster, where what it deployed stays. What is decided already is decided anew only for a work that was named.
func Decide(w *workv1.ManifestWork, decision Verb, named bool) (*Change, *Refusal) {
	o := OrphanOf(w)
	name := w.Namespace + "/" + w.Name
	switch {
	case o == nil:
		return refuse("kubectl towline orphans", "ManifestWork %s is not orphaned: the hub has its Application, or was told of its end", name)
	case o.Left:
		return nothing("it is on its way out already")
	case o.Decided == string(decision):
		return nothing("%s is decided already", decision)
	case o.Decided != "" && !named:
		return nothing("it is left as decided: %s", o.Decided)
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": w.UID, "resourceVersion": w.ResourceVersion, "annotations": map[string]string{apis.AnnotationOrphaned: string(decision)},
	}})
	if err != nil {
		return refuse("", "%s: %v", name, err) // strings can be encoded
	}
	message := fmt.Sprintf("%s stays on %s, where an Application that is created again can take it over", o.Application, o.Cluster)
	if decision == Delete {
		message = fmt.Sprintf("%s is removed from %s, and what it deployed stays", o.Application, o.Cluster)
	}
	return &Change{Patch: data, Message: message, Awaits: "the ManifestWork to go"}, nil
}
