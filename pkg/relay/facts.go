package relay

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// Facts are all inputs of Decide.
type Facts struct {
	// Now is the present time.
	Now time.Time

	// App is the hub's Application, at the target that is allowed now.
	App *argocd.Application

	// Withheld is true if the requested operation stays on the hub, for example an unreadable operation. Such an operation
	// blocks no other request.
	Withheld bool

	// Work is the state of the Application's work; nil without a work.
	Work *Work

	// Seen is the cluster's report on the Application; empty without a report.
	Seen *feedback.Observation

	// Identity is an identity unused by earlier operations; empty if unknown.
	Identity string

	// Latest is true if App has the status and the refresh of the newest version on the hub. Outdated is true if a user
	// has changed the Application since the version of App.
	Latest, Outdated bool
}

// Work is the state of a work, as far as the requests depend on the work.
type Work struct {
	Stored
	Result

	// Ready is true if the agent has applied the Application in the work, with the hub's spec.
	Ready bool

	// Respecified is true if App deploys different content than the Application in the work.
	Respecified bool
}

// Result is the agent's answer to the present content of a work.
type Result struct {
	// Outcome is the result of the apply; empty before the answer.
	Outcome metav1.ConditionStatus

	// Outdated is true if the cluster's Application has another version than the request in the work expects.
	Outdated bool
}

// Stored are the requests of an Application as stored in the work.
type Stored struct {
	// Refresh is a refresh on its way, carried by the Application.
	Refresh Refresh

	// Last is the last operation or termination carried by the work.
	Last Sent

	// ChangedAt is the revision in AnnotationChangedAt; empty for none. Uncompared is true until the cluster has
	// compared the present content of the Application.
	ChangedAt  string
	Uncompared bool
}

// Answer is the result of Decide.
type Answer struct {
	// NeedIdentity and NeedLatest are true if Decide needs Identity or Latest. No other field counts then.
	NeedIdentity, NeedLatest bool

	// HubFirst is true if the hub's Application must be written before the work. The write wakes the controller for the
	// next decision.
	HubFirst bool

	// Stored are the requests to be stored in the work.
	Stored

	// Sends is true if a new request takes the place of the Application in the work. SentOperation is the operation to
	// send, and empty for a termination.
	Sends         bool
	SentOperation json.RawMessage

	// Unanswered is true if the content of the work must stay, because the agent has not answered yet.
	Unanswered bool

	// Operation replaces the operation of the hub's Application; empty for no change. Dropped is true if Operation removes
	// an operation without a sync.
	Operation json.RawMessage
	Dropped   bool

	// AskRefresh is a refresh to request on the hub; empty for none. RefreshEnds is true if the request on the hub is to be
	// removed.
	AskRefresh  string
	RefreshEnds bool

	// Warning is the refresh warning for the Application: empty for no warning, nil for no change.
	Warning *string

	// After is the time until the next decision without a change; zero for never.
	After time.Duration
}

// ClusterOf returns the cluster's report about operations.
func ClusterOf(seen *feedback.Observation) Cluster {
	c := Cluster{Version: seen.Version, Taken: seen.Taken, Pending: seen.Pending}
	if s := seen.Status.OperationState; s != nil {
		c.Busy, c.StartedAt = s.Running(), s.StartedAt
	}
	return c
}
