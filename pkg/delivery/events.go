package delivery

import (
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxNote is the maximum length of an event's note (events.k8s.io/v1).
const maxNote = 1024

// ending is the log entry and the event about a work's deletion. The note has placeholders for the cluster and the
// work's name.
type ending struct{ log, reason, action, note string }

var (
	removed = ending{
		log: "Deleted ManifestWork", reason: apis.ReasonWorkDeleted, action: "Delete",
		note: "asked cluster %s to remove the Application (ManifestWork %s)",
	}
	releasedThere = ending{
		log: "Released ManifestWork", reason: apis.ReasonReleased, action: "Release",
		note: "cluster %s keeps the Application and its deployed resources; ManifestWork %s was deleted",
	}
	handedOver = ending{
		log: "Handed the Application over to the hub's Argo CD", reason: apis.ReasonReleased, action: "Release",
		note: "asked cluster %s to remove the Application and to keep its deployed resources for the hub's own Argo CD; ManifestWork %s was deleted",
	}
	nothingSent = ending{
		log: "Released ManifestWork that its cluster has not seen", reason: apis.ReasonReleased, action: "Release",
		note: "cluster %s did not get the Application: ManifestWork %s was deleted before the cluster's work agent read the work",
	}
)

// of returns the events about the end of a work; none without an Application for the events.
func (e ending) of(s *subject) []Event {
	if s.app == nil {
		return nil
	}
	return []Event{{Related: s.ManifestWork, Reason: e.reason, Action: e.action, Note: fmt.Sprintf(e.note, s.Namespace, s.Name)}}
}

// event returns the event about a new condition.
func (c Condition) event() Event {
	return Event{Warning: !c.notice(), Reason: c.Reason, Action: "Propagate", Note: feedback.Clean(c.Message, maxNote)}
}
