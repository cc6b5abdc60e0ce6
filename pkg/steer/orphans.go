package steer

import (
	"encoding/json"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// Orphan is a ManifestWork with a lost Application on the hub. A cluster may have written any part of an Orphan.
type Orphan struct {
	// Cluster and Work identify the ManifestWork.
	Cluster string `json:"cluster"`
	Work    string `json:"work"`

	// Application is the namespace and name of the Application named in the work.
	Application string `json:"application"`

	// Set is the namespace and name of the ApplicationSet; empty for none.
	Set string `json:"applicationSet,omitempty"`

	// Since is when Towline noticed the loss of the Application; zero if unreadable.
	Since time.Time `json:"since,omitzero"`

	// Decided is a person's decision: adopt, delete or hold; empty for no decision.
	Decided string `json:"decided,omitempty"`

	// UnderWay is true if the release or deletion of the work is already under way.
	UnderWay bool `json:"underWay,omitempty"`
}

// OrphanOf returns the Orphan of an orphaned work; nil for other works.
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
		UnderWay: w.DeletionTimestamp != nil || work.Released(w),
	}
}

// Decide returns the change that records a decision on an orphaned work. adopt lets the cluster keep the Application.
// delete removes the Application from the cluster, but the deployed resources stay. An earlier decision changes only
// for a work named by the user.
func Decide(w *workv1.ManifestWork, decision Verb, named bool) (*Change, *Refusal) {
	o := OrphanOf(w)
	name := w.Namespace + "/" + w.Name
	switch {
	case o == nil:
		return refuse("kubectl towline orphans", "ManifestWork %s is not orphaned: the hub has the Application, or the cluster confirmed the removal", name)
	case o.UnderWay:
		return nothing("the ManifestWork is going already")
	case o.Decided == string(decision):
		return nothing("%s is decided already", decision)
	case o.Decided != "" && !named:
		return nothing("the earlier decision stays: %s", o.Decided)
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": w.UID, "resourceVersion": w.ResourceVersion, "annotations": map[string]string{apis.AnnotationOrphaned: string(decision)},
	}})
	if err != nil {
		return refuse("", "%s: %v", name, err) // strings always encode
	}
	message := fmt.Sprintf("%s stays on %s, and an Application with the same name on the hub can take over the one on the cluster",
		o.Application, o.Cluster)
	if decision == Delete {
		message = fmt.Sprintf("%s is removed from %s, and the workload stays", o.Application, o.Cluster)
	}
	return &Change{Patch: data, Message: message, Awaits: "the ManifestWork to go"}, nil
}
