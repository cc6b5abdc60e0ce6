package bundle

import (
	"encoding/json"
	"errors"
	"fmt"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cetypes2 "github.com/cloudevents/sdk-go/v2/types"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// A Status is Maestro's event about an agent's report on a work.
type Status struct {
	// ID is the id of the bundle.
	ID string

	// UID is the UID of the work in the agent's report, because a new work may have the same name.
	UID types.UID

	// Version is the version of the spec in the agent's report.
	Version int64

	// Sequence orders the statuses of a work.
	Sequence string

	// Deleted means that the agent has removed all objects of the work. Maestro then removes the bundle too.
	Deleted bool

	// Status is the agent's status of the work.
	Status workv1.ManifestWorkStatus
}

// ErrOther means that an event is not about a work: a heartbeat.
var ErrOther = errors.New("not an event of a work")

// ReadStatus decodes an event of Maestro for sources. The error is ErrOther for a heartbeat, or describes the invalid
// part of the event.
func ReadStatus(event *cloudevents.Event) (*Status, error) {
	if event.Type() == cetypes.HeartbeatCloudEventsType {
		return nil, ErrOther
	}
	extensions := event.Extensions()
	id, err := cetypes2.ToString(extensions[cetypes.ExtensionResourceID])
	if err != nil {
		return nil, fmt.Errorf("extension %s: %w", cetypes.ExtensionResourceID, err)
	}
	version, err := cetypes2.ToInteger(extensions[cetypes.ExtensionResourceVersion])
	if err != nil {
		return nil, fmt.Errorf("extension %s: %w", cetypes.ExtensionResourceVersion, err)
	}
	sequence, err := cetypes2.ToString(extensions[cetypes.ExtensionStatusUpdateSequenceID])
	if err != nil {
		return nil, fmt.Errorf("extension %s: %w", cetypes.ExtensionStatusUpdateSequenceID, err)
	}
	var meta metav1.ObjectMeta
	if text, ok := extensions[cetypes.ExtensionWorkMeta].(string); ok {
		if err := json.Unmarshal([]byte(text), &meta); err != nil {
			return nil, fmt.Errorf("extension %s: %w", cetypes.ExtensionWorkMeta, err)
		}
	}
	var said payload.ManifestBundleStatus
	if err := json.Unmarshal(event.Data(), &said); err != nil {
		return nil, fmt.Errorf("status of work %s: %w", meta.Name, err)
	}
	return &Status{
		ID: id, UID: meta.UID, Version: int64(version), Sequence: sequence,
		Deleted: apimeta.IsStatusConditionTrue(said.Conditions, common.ResourceDeleted),
		Status: workv1.ManifestWorkStatus{
			Conditions: said.Conditions, ResourceStatus: workv1.ManifestResourceStatus{Manifests: said.ResourceStatus},
		},
	}, nil
}
