package dependency

import (
	"cmp"
	"slices"
	"time"

	"github.com/towline-io/towline/pkg/gate"
)

// Intent is what becomes of a dependency's work.
type Intent string

// Intents of works.
const (
	// Keep leaves it as it is.
	Keep Intent = "keep"
	// Carry has it say what the hub has now.
	Carry Intent = "carry"
	// Unused is for one that no Application of the hub needs: End comes after that.
	Unused Intent = "unused"
	// End deletes it, and takes what it carries off the cluster. What released Applications use stays.
	End Intent = "end"
	// Withdraw does so whoever uses it: its owner does not let it travel any more.
	Withdraw Intent = "withdraw"
	// Orphan deletes it, and leaves what it carries to the cluster as it is.
	Orphan Intent = "orphan"
)

// Intents that all works have in common.
const (
	// Tell shows on an Application how its dependencies are.
	Tell Intent = "tell"
	// Write changes the work in whatever way.
	Write Intent = "write"
	// Remove deletes the work, once its last state is on the hub.
	Remove Intent = "remove"
)

// behind is how long to wait when the cache does not have yet what the API server has.
const behind = 100 * time.Millisecond

type (
	answer = gate.Answer
	rule   = func(*decision) answer
)

var open answer

func because(format string, args ...any) answer { return gate.Because(format, args...) }

// Gates are all reasons to wait, in the order in which they are asked.
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

// held asks the gates of an intent, and tells whether one holds.
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

// askPaused is for objects, whose Application is the one that is told.
func askPaused(d *decision) answer {
	if by := d.Users[0].Paused; by != "" {
		return because("%s is paused", by)
	}
	return open
}

// askClusterPaused: nothing is written for a cluster whose ManagedCluster is paused.
func askClusterPaused(d *decision) answer {
	if d.Cluster.Paused != "" {
		return because("%s is paused", d.Cluster.Paused)
	}
	return open
}

// askDeletion: the end of a work wakes the decision that makes it anew, if it is needed.
func askDeletion(d *decision) answer {
	if d.Work != nil && !d.Work.DeletionTimestamp.IsZero() {
		return because("the work is being deleted")
	}
	return open
}

// askCluster: nothing is known of a cluster that the hub does not have, and what was sent there stays as it is.
func askCluster(d *decision) answer {
	if !d.Cluster.Exists {
		return because("there is no ManagedCluster %s", d.Key.Namespace)
	}
	return open
}

// askPayload: what is on the cluster stays as it is, and the Applications that need it say so.
func askPayload(d *decision) answer {
	if d.tooLarge != nil {
		return because("the work does not fit: %s", d.tooLarge)
	}
	return open
}

// askExecutor is for objects: those whose AppProject names no ServiceAccount as it should do not travel past its rights.
func askExecutor(d *decision) answer {
	if d.Kind() == Objects && d.ExecutorInvalid {
		return because("the AppProject names no ServiceAccount as executor")
	}
	return open
}

// askBehind: the API server has the Secret.
func askBehind(d *decision) answer {
	if d.Absent() && d.SecretBehind {
		return answer{Words: "the cache is behind the API server", After: behind}
	}
	return open
}

// askMissing: a Secret or ConfigMap may be put back soon.
func askMissing(d *decision) answer {
	left := cmp.Or(d.Grace, DefaultGrace) - d.Now.Sub(d.MissingSince)
	if d.Absent() && left > 0 {
		return answer{Words: "the object on the hub has been missing for a short while", After: left}
	}
	return open
}

// askRequest: as long as a work carries a request, not all that its cluster uses is known.
func askRequest(d *decision) answer {
	if d.Kind() == Objects {
		return open
	}
	if _, all := d.carried(); !all {
		return because("a request is on its way to the cluster")
	}
	return open
}

// askUsed: a credential or certificate stays for an Application on the cluster that uses it, permitted or not.
func askUsed(d *decision) answer {
	if d.Kind() != Credential && d.Kind() != Certificate {
		return open
	}
	specs, _ := d.carried()
	host, _ := d.certificate()
	if slices.ContainsFunc(specs, func(s Spec) bool {
		if d.Kind() == Certificate {
			return s.connects(host)
		}
		return d.Credentials.Needs(s, d.Secret.Name)
	}) {
		return because("an Application on the cluster uses it")
	}
	return open
}

// askOwnWork: objects go after the Application's own work, since what runs may need them to the end.
func askOwnWork(d *decision) answer {
	if d.Kind() == Objects && d.Beside {
		return because("the Application's own work is there")
	}
	return open
}

// askLastState: the agent must have applied the last state of a work before its deletion does what that asks for.
func askLastState(d *decision) answer {
	if !Seen(d.Work) {
		return because("the agent has not seen the last state of the work")
	}
	return open
}
