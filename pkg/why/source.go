package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
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
	if f.Work != nil && work.ReadsThroughHub(f.Work) {
		return true // a user who may not read all facts does not know the choice for the cluster
	}
	if f.Managed != nil {
		return f.Managed.Reading(f.App).SourceAddress != ""
	}
	return f.App.Annotations[apis.AnnotationSource] == apis.SourceHub
}

// Repository is a repository that the hub cannot read.
type Repository struct {
	// Name is the name of the object on the hub, in the namespace of the cluster.
	Name string

	// Address is the address of the repository in the Application.
	Address string

	source.Failure
}

// agentPage is the page about the agent's port for repositories.
const agentPage = "see docs/agent.md, Sources from the hub"

// sourceDown replaces the link of the cluster's Argo CD while the cluster gets no new commit through the hub. The agent of
// the cluster repeats the last references, so the Application itself may show no problem.
func (f *Facts) sourceDown(k *Link) {
	if !f.ThroughHub() {
		return
	}
	down := Link{Name: k.Name, State: Blocked, Who: admin}
	down.Message, down.Do = f.Source.Problem()
	switch {
	case down.Message != "":
		down.Since = f.Source.Since
	case f.Agent.Missing:
		down.Message, down.Do = "the cluster does not have the add-on towline-agent", agentPage
	case f.Agent.Closed:
		down.Message, down.Do = "the agents run without --source-bind-address", agentPage
	case f.Agent.Unavailable && k.State != OK:
		down.Message, down.Do = "the agent of the cluster does not answer the hub", f.command(agentAddOn)
	case f.Repository != nil:
		f.Repository.explain(&down)
		down.Do, down.Since = f.command(down.Do), k.Since
	default:
		return
	}
	down.Message += ". The cluster reads the repositories through the hub, and gets no new commit" + suffix(k.Message)
	*k = down
}

// explain sets the link for a repository that the hub cannot read.
func (r *Repository) explain(k *Link) {
	k.Reason, k.Message = r.Reason, fmt.Sprintf("the hub cannot read %s: %s (%s)", r.Address, r.Message, r.Error)
	k.Do = "kubectl get repositories -n CLUSTER " + r.Name + " -o yaml # see docs/sources.md, If the hub cannot read a repository"
	if r.Reason == "hub" {
		k.Do = SourceLog + " # for a full volume, lower --max-bytes, or enlarge the volume"
	}
}

// sourceHint names the person for content that the cluster cannot read through the hub. The messages come from
// towline-source and from the agent of the cluster, and for content of other servers from the cluster's Argo CD.
func (f *Facts) sourceHint(k *Link) {
	if !f.ThroughHub() || k.State != Blocked {
		return
	}
	has := func(part string) bool { return strings.Contains(k.Message, part) }
	switch {
	case slices.ContainsFunc(elsewhere, has): // a submodule may also name a repository that the cluster may not read
		k.Who, k.Do = author, "see docs/sources.md, What does not come through the hub"
	case slices.ContainsFunc(unread, has):
		k.Who, k.Do = admin, f.command("kubectl get repositories -n CLUSTER")
	}
}

// unread are parts of the messages about a repository that the hub cannot read. elsewhere are parts of the messages about
// content of other servers: submodules, remote bases of Kustomize, and dependencies of charts.
var (
	unread    = []string{"kubectl get repositories -n ", "cannot be read from the hub", "reads no repository of this name through the hub"}
	elsewhere = []string{"git submodule update", "git fetch --depth=1", "error building helm chart dependencies", "helm repos "}
)
