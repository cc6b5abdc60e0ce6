package why

import (
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/source"
)

// SourceState is the state of towline-source on the hub.
type SourceState struct {
	// Missing is true without the APIService of towline-source.
	Missing bool

	// Unavailable is why the hub's API server cannot reach towline-source; empty for an available towline-source. Since is
	// the start of the state; nil if unknown.
	Unavailable string
	Since       *time.Time
}

// Problem returns why no cluster can read from towline-source, and the command of an administrator of the hub; empty
// for a nil or an available SourceState.
func (s *SourceState) Problem() (message, do string) {
	switch {
	case s == nil:
		return "", ""
	case s.Missing:
		return "towline-source is not installed on the hub", "kubectl get apiservice " + source.APIService + " # see docs/sources.md, Install"
	case s.Unavailable != "":
		return "towline-source on the hub does not answer: " + s.Unavailable,
			"kubectl get pods -A -l app.kubernetes.io/name=towline-source"
	}
	return "", ""
}

// ThroughHub reports whether the cluster reads the repositories of the Application through the hub, as far as known.
func (f *Facts) ThroughHub() bool {
	if f.App == nil {
		return false
	}
	if f.Managed != nil {
		return f.Managed.Reading(f.App).SourceAddress != ""
	}
	return f.App.Annotations[apis.AnnotationSource] == apis.SourceHub
}

// sourceDown replaces the link of the cluster's Argo CD while towline-source is down. The agent of the cluster repeats
// the last references, so the Application itself may show no problem.
func (f *Facts) sourceDown(k *Link) {
	message, do := f.Source.Problem()
	if message == "" || !f.ThroughHub() {
		return
	}
	*k = Link{Name: k.Name, State: Blocked, Who: admin, Do: do, Since: f.Source.Since,
		Message: message + ". The cluster reads the repositories through the hub, and gets no new commit" + suffix(k.Message)}
}

// sourceHint names the administrator of the hub as the person for a repository that the hub cannot read. The messages
// come from towline-source and from the agent of the cluster.
func (f *Facts) sourceHint(k *Link) {
	if !f.ThroughHub() || k.State != Blocked {
		return
	}
	for _, says := range []string{"kubectl get repositories -n ", "cannot be read from the hub", "reads no repository of this name through the hub"} {
		if strings.Contains(k.Message, says) {
			k.Who, k.Do = admin, f.command("kubectl get repositories -n CLUSTER")
			return
		}
	}
}
