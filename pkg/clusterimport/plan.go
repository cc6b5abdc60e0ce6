package clusterimport

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// Plan is the result of a decision about a GitOpsCluster. Apply the fields in order.
type Plan struct {
	// NeedUsers are the Secrets whose users the caller must read first. Do not apply a plan with such Secrets: decide
	// again.
	NeedUsers []*corev1.Secret

	// Claim are the marks that the GitOpsCluster needs before all other writes; nil if the marks are set.
	Claim *Marks

	// Stages are groups of writes. The writes of a stage may run in parallel, after the end of the stage before.
	Stages [][]Step

	// Status is the new status of the GitOpsCluster; nil for no change. Send Events after the status.
	Status *v1beta1.GitOpsClusterStatus
	Events []Event

	// Clusters is the number of chosen clusters with a Secret; nil if unknown.
	Clusters *int32

	// Release are the remaining marks of the GitOpsCluster after all writes; nil for no change.
	Release *Marks

	// EmptyNamespaces are the namespaces without Secrets of the GitOpsCluster.
	EmptyNamespaces []string

	// Kept are the Secrets kept for Applications.
	Kept []KeptSecret

	// StandsBack is the reason to leave the GitOpsCluster to the older controller; empty for none.
	StandsBack string

	// After is when to decide again without a change; zero for never. Backoff is set if the time is unknown: then
	// retry with increasing delays.
	After   time.Duration
	Backoff bool
}

// Verb is the action of a step.
type Verb string

// The verbs of steps, as in metrics.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Step is a write of an object.
type Step struct {
	Verb Verb

	// Was is the observed object; nil for a creation. The write has the UID and resourceVersion as preconditions.
	Was Object

	// Object is the new object; nil for a deletion.
	Object Object

	// Cluster is the cluster of a Secret.
	Cluster string

	// Removal is set if an Argo CD loses an object or a part of an object. Frees is set if the GitOpsCluster gives up
	// a Secret.
	Removal, Frees bool
}

// KeptSecret is a Secret kept for an Application.
type KeptSecret struct {
	Secret *corev1.Secret
	User   User
	words  string
}

// Event is an event on the GitOpsCluster.
type Event struct {
	// Type, Reason, Action and Note are the fields of events.k8s.io/v1.
	Type, Reason, Action, Note string
}

// Destroys returns the sorted writes by which an Argo CD loses a cluster, or the hub forgets a mark; empty for none.
// The caller must decide a second time from facts read past the cache. It may apply the plan only if both plans
// destroy the same.
func (p *Plan) Destroys() []string {
	var out []string
	for _, stage := range p.Stages {
		for _, s := range stage {
			if s.Removal {
				out = append(out, string(s.Verb)+" "+string(s.Was.GetUID()))
			}
		}
	}
	if p.Release != nil {
		kept := strings.Join(append(slices.Clone(p.Release.Namespaces), ""), ",")
		out = append(out, "keep "+kept)
		if !p.Release.Finalizer {
			out = append(out, "finish")
		}
	}
	slices.Sort(out)
	return out
}

// Target returns the object of the step.
func (s *Step) Target() Object {
	if s.Object != nil {
		return s.Object
	}
	return s.Was
}

// Imports reports whether the step creates or updates the Secret of a chosen cluster.
func (s *Step) Imports() bool { return s.Cluster != "" && !s.Removal }
