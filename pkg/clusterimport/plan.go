package clusterimport

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/gate"
)

// Plan is what is to be done about a GitOpsCluster. Its parts are made in this order.
type Plan struct {
	// Ask are the Secrets whose users have to be read first. A plan that asks is not to be applied.
	Ask []*corev1.Secret

	// Claim are the marks that the GitOpsCluster needs before anything else can be decided; nil where it has them.
	Claim *Marks

	// Stages are writes. Those of a stage are made at the same time, and only after those of the one before.
	Stages [][]Step

	// Status is that of the GitOpsCluster; nil where it stays as it is. Events are told after it.
	Status *v1beta1.GitOpsClusterStatus
	Events []Event

	// Clusters is how many of the chosen clusters have their Secret; nil where that is not known.
	Clusters *int32

	// Release are the marks that the GitOpsCluster keeps once all that is done; nil where those stay as they are.
	Release *Marks

	// Left are the namespaces in which it has no Secrets any more.
	Left []string

	// Held are the Secrets that stay for the sake of Applications.
	Held []Held

	// StandsBack is the reason for which the GitOpsCluster is left to another controller; empty where it is not.
	StandsBack string

	// After is when to look again though nothing has changed, zero for never; Backoff is set where nothing tells when: ever
	// slower, then.
	After   time.Duration
	Backoff bool

	// Trace are the gates that held, in order.
	Trace []gate.Said
}

// Verb is what a step does to an object.
type Verb string

// The verbs of steps, as metrics name them.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Step is one write of an object.
type Step struct {
	Verb Verb

	// Was is the object as it was read; nil for one to be created. The write is bound to its UID and resourceVersion.
	Was Object

	// Object is the object as it is to be; nil for one to be deleted.
	Object Object

	// Cluster is that of a Secret.
	Cluster string

	// Removal is set where the step takes something from an Argo CD, and Frees where no Secret is left that the GitOpsCluster
	// wants.
	Removal, Frees bool
}

// Held is a Secret that stays for the sake of an Application.
type Held struct {
	Secret *corev1.Secret
	User   User
	words  string
}

// Event is what people should see on the GitOpsCluster.
type Event struct {
	// Type, Reason, Action and Note are those of events.k8s.io/v1.
	Type, Reason, Action, Note string
}

// Destroys are the writes by which an Argo CD loses a cluster, or the hub forgets that it has one; none for a plan that has no
// such, sorted. Such a plan is to be made again from facts read past the cache, and to be applied only if it comes to the same.
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

// Target is the object that the step writes.
func (s *Step) Target() Object {
	if s.Object != nil {
		return s.Object
	}
	return s.Was
}

// Imports tells whether the step makes the Secret of a chosen cluster what it is to be.
func (s *Step) Imports() bool { return s.Cluster != "" && !s.Removal }
