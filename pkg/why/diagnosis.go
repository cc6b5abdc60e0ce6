package why

import (
	"slices"
	"time"

	"github.com/towline-io/towline/pkg/gate"
)

// State is the state of a link of the path.
type State string

const (
	// OK means that the link has no problem.
	OK State = "ok"

	// Waiting means that the link is in progress, and no person needs to act.
	Waiting State = "waiting"

	// Blocked means that a person must act.
	Blocked State = "blocked"

	// Unknown means that the user may not read the deciding object.
	Unknown State = "unknown"

	// Later means that an earlier link stops the path.
	Later State = "later"

	// Off means that an option is not switched on.
	Off State = "off"
)

// The links of the path, in order.
const (
	LinkSet          = "ApplicationSet"
	LinkPlacement    = "Placement"
	LinkSecret       = "cluster Secret"
	LinkKeys         = "Application"
	LinkRights       = "rights"
	LinkTarget       = "target"
	LinkDependencies = "dependencies"
	LinkWork         = "ManifestWork"
	LinkAgent        = "work agent"
	LinkArgoCD       = "cluster's Argo CD"
	LinkResources    = "resources"
)

// Links are all links, in order.
var Links = []string{
	LinkSet, LinkPlacement, LinkSecret, LinkKeys, LinkRights, LinkTarget, LinkDependencies, LinkWork, LinkAgent, LinkArgoCD, LinkResources,
}

// Link is one link of the path.
type Link struct {
	// Name is one of Links.
	Name string `json:"name"`

	// State is the state of the link.
	State State `json:"state"`

	// Message is the current state or the problem, in words.
	Message string `json:"message,omitempty"`

	// Reason is the reason of the matching condition or event; empty for none.
	Reason string `json:"reason,omitempty"`

	// Since is the start of the state; nil if unknown.
	Since *time.Time `json:"since,omitempty"`

	// Who can change the state; empty if no person must act.
	Who string `json:"who,omitempty"`

	// Do is the command to show details or to solve the problem; empty for none.
	Do string `json:"do,omitempty"`
}

// Diagnosis is the path of one Application.
type Diagnosis struct {
	// Application is the Application's "<namespace>/<name>" on the hub; empty if the ApplicationSet has not created the
	// Application.
	Application string `json:"application,omitempty"`

	// Set is "<namespace>/<name>" of the ApplicationSet; empty for none.
	Set string `json:"applicationSet,omitempty"`

	// Cluster is the managed cluster; empty if the Application names no cluster.
	Cluster string `json:"cluster,omitempty"`

	// Links are the links of the path relevant for the Application.
	Links []Link `json:"links"`

	// Differences tells whether `argocd app diff` works on the hub; nil if unknown. Not part of the verdict.
	Differences *Link `json:"differences,omitempty"`

	// Unread are the reads that the user's rights do not allow, sorted.
	Unread []string `json:"unread,omitempty"`

	// Trace are the checks and steps of Towline's decision, in order; empty unless the user requests the trace.
	Trace []gate.TraceEntry `json:"trace,omitempty"`
}

// Verdict returns the state of the whole path: the state of the first blocked or waiting link. Without such a link,
// Verdict returns Unknown if a link is unknown, and OK otherwise.
func (l *Diagnosis) Verdict() State {
	if i := l.broken(); i >= 0 {
		return l.Links[i].State
	}
	if slices.ContainsFunc(l.Links, func(k Link) bool { return k.State == Unknown }) {
		return Unknown
	}
	return OK
}

// Broken returns the first blocked or waiting link; nil for none.
func (l *Diagnosis) Broken() *Link {
	if i := l.broken(); i >= 0 {
		return &l.Links[i]
	}
	return nil
}

func (l *Diagnosis) broken() int {
	return slices.IndexFunc(l.Links, func(k Link) bool { return k.State == Blocked || k.State == Waiting })
}

// add appends a link. After a blocked or waiting link, the state of a link is unknown, and add appends Later.
func (l *Diagnosis) add(k Link) {
	if l.Broken() != nil {
		k = Link{Name: k.Name, State: Later}
	}
	l.Links = append(l.Links, k)
}
