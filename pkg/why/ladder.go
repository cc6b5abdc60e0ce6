package why

import (
	"slices"
	"time"
)

// State is how a link of the way is.
type State string

const (
	// OK says that nothing is wrong with it.
	OK State = "ok"

	// Waiting says that something is under way, and needs nobody.
	Waiting State = "waiting"

	// Blocked says that somebody has to do something.
	Blocked State = "blocked"

	// Unknown says that who asks may not read what tells.
	Unknown State = "unknown"

	// Later says that the way stops before it.
	Later State = "later"
)

// The links of the way, in their order.
const (
	LinkSet       = "ApplicationSet"
	LinkPlacement = "Placement"
	LinkSecret    = "cluster Secret"
	LinkKeys      = "Application"
	LinkRights    = "rights"
	LinkTarget    = "target"
	LinkBeside    = "dependencies"
	LinkWork      = "ManifestWork"
	LinkAgent     = "work agent"
	LinkArgoCD    = "cluster's Argo CD"
	LinkResources = "resources"
)

// Links are all of them, in their order.
var Links = []string{
	LinkSet, LinkPlacement, LinkSecret, LinkKeys, LinkRights, LinkTarget, LinkBeside, LinkWork, LinkAgent, LinkArgoCD, LinkResources,
}

// Link is one link of the way.
type Link struct {
	// Name is one of Links.
	Name string `json:"name"`

	// State is how it is.
	State State `json:"state"`

	// Message says what is there, or what is wrong.
	Message string `json:"message,omitempty"`

	// Reason is the reason of the condition or event that goes with it; empty where there is none.
	Reason string `json:"reason,omitempty"`

	// Since is since when it is so; nil where nothing tells.
	Since *time.Time `json:"since,omitempty"`

	// Who can change it; empty where nobody has to.
	Who string `json:"who,omitempty"`

	// Do is the command that shows more or mends it; empty for none.
	Do string `json:"do,omitempty"`
}

// Ladder is the way of one Application.
type Ladder struct {
	// Application is its namespace and name on the hub; empty where its ApplicationSet has not made it.
	Application string `json:"application,omitempty"`

	// Set is the namespace and name of its ApplicationSet; empty for none.
	Set string `json:"applicationSet,omitempty"`

	// Cluster is its managed cluster; empty where it names none.
	Cluster string `json:"cluster,omitempty"`

	// Links are those of the way that concern it.
	Links []Link `json:"links"`

	// Unread are the reads that the rights of who asks do not allow, sorted.
	Unread []string `json:"unread,omitempty"`
}

// Verdict is the state of the whole: that of the first link that is neither good nor unknown, and Unknown where all others are good.
func (l *Ladder) Verdict() State {
	if i := l.broken(); i >= 0 {
		return l.Links[i].State
	}
	if slices.ContainsFunc(l.Links, func(k Link) bool { return k.State == Unknown }) {
		return Unknown
	}
	return OK
}

// Broken is the first link that is blocked or waits; nil for none.
func (l *Ladder) Broken() *Link {
	if i := l.broken(); i >= 0 {
		return &l.Links[i]
	}
	return nil
}

func (l *Ladder) broken() int {
	return slices.IndexFunc(l.Links, func(k Link) bool { return k.State == Blocked || k.State == Waiting })
}

// add puts a link behind those that are there. Behind one that is broken, nothing is known of it.
func (l *Ladder) add(k Link) {
	if l.Broken() != nil {
		k = Link{Name: k.Name, State: Later}
	}
	l.Links = append(l.Links, k)
}
