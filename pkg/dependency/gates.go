package dependency

import (
	"cmp"
	"slices"
	"time"

	"github.com/towline-io/towline/pkg/gate"
)

// Intent is the decision about the work of a dependency.
type Intent string

// Intents of works.
const (
	// Keep leaves the work as is.
	Keep Intent = "keep"
	// Carry updates the work from the hub.
	Carry Intent = "carry"
	// Unused is for a work that no Application of the hub needs. End follows Unused.
	Unused Intent = "unused"
	// End deletes the work and its objects on the cluster. Objects of released Applications stay.
	End Intent = "end"
	// Withdraw deletes the work and its objects, even if Applications use them. The owner has withdrawn the
	// permission to travel.
	Withdraw Intent = "withdraw"
	// Orphan deletes the work, and leaves its objects on the cluster.
	Orphan Intent = "orphan"
)

// Intents that all works have in common.
const (
	// Tell shows the state of the dependencies on an Application.
	Tell Intent = "tell"
	// Write is any change of the work.
	Write Intent = "write"
	// Remove deletes the work, after the write of its last state.
	Remove Intent = "remove"
)

// behind is how long to wait if the cache is behind the API server.
const behind = 100 * time.Millisecond

type (
	answer = gate.Answer
	rule   = func(*decision) answer
)

var open answer

func because(format string, args ...any) answer { return gate.Because(format, args...) }

// Gates are all reasons to wait, in the order of their checks.
var Gates gate.Table[Intent, rule]

type intents = []Intent

func init() { // the gates call functions that read the table
	Gates = gate.Table[Intent, rule]{
		{Name: "application paused", Holds: intents{Tell}, Ask: askPaused},
		{Name: "cluster paused", Holds: intents{Tell, Write}, Ask: askClusterPaused},
		{Name: "deletion", Holds: intents{Write}, Ask: askDeletion},
		{Name: "cluster exists", Holds: intents{Carry}, Ask: askCluster},
		{Name: "payload", Holds: intents{Carry}, Ask: askPayload},
		{Name: "executor", Holds: intents{Carry}, Ask: askExecutor},
		{Name: "secret behind", Holds: intents{Withdraw}, Ends: gate.ByTime, Ask: askBehind},
		{Name: "secret missing", Holds: intents{Withdraw}, Ends: gate.ByTime, Ask: askMissing},
		{Name: "request", Holds: intents{Unused}, Ask: askRequest},
		{Name: "used there", Holds: intents{Unused}, Ask: askUsed},
		{Name: "own work", Holds: intents{Unused}, Ask: askOwnWork},
		{Name: "last state", Holds: intents{Remove}, Ask: askLastState},
	}
}

// held checks the gates of an intent, and reports whether a gate holds.
func (d *decision) held(i Intent) bool {
	for g := range Gates.Of(i) {
		a := g.Ask(d)
		d.plan.Trace = append(d.plan.Trace, gate.Said{Gate: g.Name, Holds: a.Words})
		if a.Words != "" {
			d.wait(a.After)
			return true
		}
	}
	return false
}

// askPaused is for objects: the first user is the Application with the condition.
func askPaused(d *decision) answer {
	if by := d.Users[0].Paused; by != "" {
		return because("%s is paused", by)
	}
	return open
}

// askClusterPaused holds all writes for a paused cluster.
func askClusterPaused(d *decision) answer {
	if d.Cluster.Paused != "" {
		return because("%s is paused", d.Cluster.Paused)
	}
	return open
}

// askDeletion holds writes while the work is being deleted. The end of the work triggers the decision to create a new
// work.
func askDeletion(d *decision) answer {
	if d.Work != nil && !d.Work.DeletionTimestamp.IsZero() {
		return because("the work is being deleted")
	}
	return open
}

// askCluster holds a work whose ManagedCluster the hub lacks. The delivered objects stay as is.
func askCluster(d *decision) answer {
	if !d.Cluster.Exists {
		return because("there is no ManagedCluster %s", d.Key.Namespace)
	}
	return open
}

// askPayload holds a work that is too large. The objects on the cluster stay as is, and the Applications show the
// problem.
func askPayload(d *decision) answer {
	if d.tooLarge != nil {
		return because("the work does not fit: %s", d.tooLarge)
	}
	return open
}

// askExecutor is for objects. If the AppProject does not name a valid ServiceAccount, the objects would exceed the
// rights of the project.
func askExecutor(d *decision) answer {
	if d.Kind() == Objects && d.ExecutorInvalid {
		return because("the AppProject names no ServiceAccount as executor")
	}
	return open
}

// askBehind holds if the API server has the Secret, but not yet the cache.
func askBehind(d *decision) answer {
	if d.Absent() && d.SecretBehind {
		return answer{Words: "the cache is behind the API server", After: behind}
	}
	return open
}

// askMissing holds for the grace time: a user or a restore may create the Secret or ConfigMap again soon.
func askMissing(d *decision) answer {
	left := cmp.Or(d.Grace, DefaultGrace) - d.Now.Sub(d.MissingSince)
	if d.Absent() && left > 0 {
		return answer{Words: "the object on the hub has been missing for a short while", After: left}
	}
	return open
}

// askRequest holds while a work carries a request: then the needs of the cluster are not fully known.
func askRequest(d *decision) answer {
	if d.Kind() == Objects {
		return open
	}
	if _, all := d.carried(); !all {
		return because("a request is on its way to the cluster")
	}
	return open
}

// askUsed keeps a credential, a certificate or the host keys for an Application on the cluster, even if the Application
// is not permitted.
func askUsed(d *decision) answer {
	uses := func(Spec) bool { return false }
	switch host, _ := d.certificate(); d.Kind() {
	case Credential:
		uses = func(s Spec) bool { return d.Credentials.Needs(s, d.Secret.Name) }
	case Certificate:
		uses = func(s Spec) bool { return s.connects(host) }
	case HostKeys:
		uses = Spec.connectsBySSH
	case Project, Objects, Namespace:
	}
	if specs, _ := d.carried(); slices.ContainsFunc(specs, uses) {
		return because("an Application on the cluster uses it")
	}
	return open
}

// askOwnWork keeps objects until the Application's own work is gone: the workload may need them to the end.
func askOwnWork(d *decision) answer {
	if d.Kind() == Objects && d.Beside {
		return because("the Application's own work is there")
	}
	return open
}

// askLastState holds the deletion until the agent has applied the work's last state. The last state tells the agent
// what to do with the objects.
func askLastState(d *decision) answer {
	if !Seen(d.Work) {
		return because("the agent has not seen the last state of the work")
	}
	return open
}
