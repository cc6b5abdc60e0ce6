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
	// maxProblems is the maximum number of failed or missing resources reported for an Application.
	maxProblems = 20

	// maxReasons is the maximum number of resources in a condition, and maxReason the maximum length of each message
	// in bytes.
	maxReasons = 3
	maxReason  = 512
)

// States of a Problem.
const (
	// StateMissing: the resource should be on the cluster, and is missing.
	StateMissing = "Missing"

	// StateSyncFailed: the last sync could not apply the state from Git to the resource.
	StateSyncFailed = "SyncFailed"

	// StateDegraded: the resource exists and does not work.
	StateDegraded = "Degraded"
)

// states are the states of problems, the most urgent first.
var states = []string{StateMissing, StateSyncFailed, StateDegraded}

// Problem is a failed or missing resource of an Application.
type Problem struct {
	// Resource names the resource. Status and Health of Resource are not set.
	Resource argocd.ResourceStatus

	// State is a State… constant.
	State string

	// Message is the reason; empty if Argo CD gives no reason.
	Message string
}

// Problems returns the failed or missing resources, the most urgent first. Hooks are not included, because the
// operation's own message covers hooks. A resource that a running operation has not created yet is not missing.
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
	for id, result := range failed { // for example without a comparison
		out = append(out, Problem{
			Resource: argocd.ResourceStatus{Group: id.group, Version: result.Version, Kind: id.kind, Namespace: id.namespace, Name: id.name},
			State:    StateSyncFailed, Message: result.Message,
		})
	}
	slices.SortFunc(out, compareProblems)
	return out[:min(len(out), maxProblems)]
}

// problemOf returns the problem of a resource, from its state and the result of the last sync; nil for none. The
// result may be nil. A Synced resource has been repaired since a failed sync.
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

// identity is the key of a resource in an Application, without the version: a sync may apply a different version than
// the compared version.
type identity struct{ group, kind, namespace, name string }

func identityOf(r *argocd.ResourceStatus) identity {
	return identity{r.Group, r.Kind, r.Namespace, r.Name}
}

// failedResults returns the resources that the last sync could not apply, without hooks.
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

// firstAttempt reports whether an operation runs without an earlier failure.
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

// Retrying reports whether a failed operation is tried again. Argo CD (2 and 3) shows the phase Running meanwhile,
// with the message of the failed attempt.
func Retrying(o *argocd.OperationState) bool { return o.Phase == "Running" && o.RetryCount > 0 }

// WhyDegraded returns the resources that make an Application Degraded, each with its message; empty for an unknown
// cause, and for another health.
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

// reasonOf describes a Degraded resource.
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
