package observed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

const (
	// maxProblems is how many resources of one Application are told of as failed or missing.
	maxProblems = 20

	// maxReasons is how many resources a condition names, and maxReason how many bytes of each one's message.
	maxReasons = 3
	maxReason  = 512
)

// States of a Problem.
const (
	// StateMissing: the resource should be on the cluster and is not.
	StateMissing = "Missing"

	// StateSyncFailed: the last sync could not bring the resource to what Git says.
	StateSyncFailed = "SyncFailed"

	// StateDegraded: the resource is there and does not work.
	StateDegraded = "Degraded"
)

// states are the states of problems, the one that needs attention most first.
var states = []string{StateMissing, StateSyncFailed, StateDegraded}

// Problem is a resource of an Application that failed or is missing.
type Problem struct {
	// Resource names it. Its Status and Health are not set.
	Resource argocd.ResourceStatus

	// State is one of the State… words.
	State string

	// Message says why; empty where Argo CD gives no reason.
	Message string
}

// Problems are the resources that failed or are missing, those that need the most attention first. Hooks are not among them: the
// operation's own message tells of those. A resource that an operation has still to make is not missing yet.
func Problems(s *argocd.Status) []Problem {
	failed := failedResults(s.OperationState)
	var out []Problem
	for i := range s.Resources {
		r := &s.Resources[i]
		result := failed[identityOf(r)]
		delete(failed, identityOf(r))
		if p := problemOf(r, result); p != nil && (p.State != StateMissing || !firstAttempt(s.OperationState)) {
			out = append(out, *p)
		}
	}
	for id, result := range failed { // as where nothing could be compared
		out = append(out, Problem{
			Resource: argocd.ResourceStatus{Group: id.group, Version: result.Version, Kind: id.kind, Namespace: id.namespace, Name: id.name},
			State:    StateSyncFailed, Message: result.Message,
		})
	}
	slices.SortFunc(out, compareProblems)
	return out[:min(len(out), maxProblems)]
}

// problemOf is a resource's problem by its state and by what the last sync made of it, which may be nil; nil for none. A
// resource that is as Git has it was brought there since.
func problemOf(r *argocd.ResourceStatus, result *argocd.ResourceResult) *Problem {
	if r.Hook {
		return nil
	}
	var health argocd.Health
	if r.Health != nil {
		health = *r.Health
	}
	if r.Status == "Synced" {
		result = nil
	}
	p := &Problem{Message: health.Message}
	if result != nil {
		p.Message = cmp.Or(result.Message, health.Message)
	}
	switch {
	case health.Status == "Missing":
		p.State = StateMissing
	case result != nil:
		p.State = StateSyncFailed
	case health.Status == "Degraded":
		p.State = StateDegraded
	default:
		return nil
	}
	p.Resource = argocd.ResourceStatus{Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
	return p
}

// identity tells resources of an Application apart. A sync may apply another version than the one that is compared.
type identity struct{ group, kind, namespace, name string }

func identityOf(r *argocd.ResourceStatus) identity {
	return identity{r.Group, r.Kind, r.Namespace, r.Name}
}

// failedResults are what the last sync could not apply, without hooks.
func failedResults(o *argocd.OperationState) map[identity]*argocd.ResourceResult {
	if o == nil || o.SyncResult == nil {
		return nil
	}
	out := map[identity]*argocd.ResourceResult{}
	for i := range o.SyncResult.Resources {
		if r := &o.SyncResult.Resources[i]; r.Status == "SyncFailed" && r.HookType == "" {
			out[identity{r.Group, r.Kind, r.Namespace, r.Name}] = r
		}
	}
	return out
}

// firstAttempt tells whether an operation runs that has not failed yet.
func firstAttempt(o *argocd.OperationState) bool {
	return o != nil && o.Phase == "Running" && o.RetryCount == 0
}

func compareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)),
		cmp.Compare(a.Resource.Kind, b.Resource.Kind),
		cmp.Compare(a.Resource.Namespace, b.Resource.Namespace),
		cmp.Compare(a.Resource.Name, b.Resource.Name),
		cmp.Compare(a.Resource.Group, b.Resource.Group),
	)
}

// Retrying tells whether an operation has failed and is tried again. Argo CD (2 and 3) shows it as Running meanwhile, with the
// message of the attempt that failed.
func Retrying(o *argocd.OperationState) bool { return o.Phase == "Running" && o.RetryCount > 0 }

// WhyDegraded names the resources that make an Application Degraded, each with its message; empty where that is not known, or
// the Application is not Degraded.
func WhyDegraded(s *argocd.Status) string {
	if s.Health.Status != "Degraded" {
		return ""
	}
	var reasons []string
	more := 0
	for i := range s.Resources {
		r := &s.Resources[i]
		if r.Hook || r.Health == nil || r.Health.Status != "Degraded" {
			continue
		}
		if len(reasons) == maxReasons {
			more++
			continue
		}
		reasons = append(reasons, reasonOf(r))
	}
	if more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(reasons, "; ")
}

// reasonOf is one Degraded resource in words.
func reasonOf(r *argocd.ResourceStatus) string {
	name := r.Kind + " " + r.Name
	if r.Namespace != "" {
		name = r.Kind + " " + r.Namespace + "/" + r.Name
	}
	if r.Health.Message == "" {
		return name + " is Degraded"
	}
	return name + ": " + feedback.Clean(r.Health.Message, maxReason)
}
