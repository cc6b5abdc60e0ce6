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
	// ShowState shows the state of the dependencies on an Application.
	ShowState Intent = "show state"
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

var pass answer

func blockf(format string, args ...any) answer { return gate.Blockf(format, args...) }

// Gates are all reasons to wait, in the order of their checks.
var Gates gate.Table[Intent, rule]

type intents = []Intent

func init() { // the gates call functions that read the table
	Gates = gate.Table[Intent, rule]{
		{Name: "application paused", Blocks: intents{ShowState}, Check: checkPaused},
		{Name: "cluster paused", Blocks: intents{ShowState, Write}, Check: checkClusterPaused},
		{Name: "deletion", Blocks: intents{Write}, Check: checkDeletion},
		{Name: "cluster exists", Blocks: intents{Carry}, Check: checkCluster},
		{Name: "payload", Blocks: intents{Carry}, Check: checkPayload},
		{Name: "executor", Blocks: intents{Carry}, Check: checkExecutor},
		{Name: "secret behind", Blocks: intents{Withdraw}, Check: checkBehind},
		{Name: "secret missing", Blocks: intents{Withdraw}, Check: checkMissing},
		{Name: "request", Blocks: intents{Unused}, Check: checkRequest},
		{Name: "used there", Blocks: intents{Unused}, Check: checkUsed},
		{Name: "own work", Blocks: intents{Unused}, Check: checkOwnWork},
		{Name: "last state", Blocks: intents{Remove}, Check: checkLastState},
	}
}

// blocked checks the gates of an intent, and reports whether a gate blocks.
func (d *decision) blocked(i Intent) bool {
	for g := range Gates.Of(i) {
		if a := g.Check(d); a.Words != "" {
			d.wait(a.After)
			return true
		}
	}
	return false
}

// checkPaused is for objects: the first user is the Application with the condition.
func checkPaused(d *decision) answer {
	if by := d.Users[0].Paused; by != "" {
		return blockf("%s is paused", by)
	}
	return pass
}

// checkClusterPaused blocks all writes for a paused cluster.
func checkClusterPaused(d *decision) answer {
	if d.Cluster.Paused != "" {
		return blockf("%s is paused", d.Cluster.Paused)
	}
	return pass
}

// checkDeletion blocks writes while the work is being deleted. The end of the work triggers the decision to create a new
// work.
func checkDeletion(d *decision) answer {
	if d.Work != nil && !d.Work.DeletionTimestamp.IsZero() {
		return blockf("the work is being deleted")
	}
	return pass
}

// checkCluster blocks a work whose ManagedCluster the hub lacks. The delivered objects stay as is.
func checkCluster(d *decision) answer {
	if !d.Cluster.Exists {
		return blockf("there is no ManagedCluster %s", d.Key.Namespace)
	}
	return pass
}

// checkPayload blocks a work that is too large. The objects on the cluster stay as is, and the Applications show the
// problem.
func checkPayload(d *decision) answer {
	if d.tooLarge != nil {
		return blockf("the work does not fit: %s", d.tooLarge)
	}
	return pass
}

// checkExecutor is for objects. If the AppProject does not name a valid ServiceAccount, the objects would exceed the
// rights of the project.
func checkExecutor(d *decision) answer {
	if d.Kind() == Objects && d.ExecutorInvalid {
		return blockf("the AppProject names no ServiceAccount as executor")
	}
	return pass
}

// checkBehind blocks if the API server has the Secret, but not yet the cache.
func checkBehind(d *decision) answer {
	if d.Absent() && d.SecretBehind {
		return answer{Words: "the cache is behind the API server", After: behind}
	}
	return pass
}

// checkMissing blocks for the grace time: a user or a restore may create the Secret or ConfigMap again soon.
func checkMissing(d *decision) answer {
	left := cmp.Or(d.Grace, DefaultGrace) - d.Now.Sub(d.MissingSince)
	if d.Absent() && left > 0 {
		return answer{Words: "the object on the hub has been missing for a short while", After: left}
	}
	return pass
}

// checkRequest blocks while a work carries a request: then the needs of the cluster are not fully known.
func checkRequest(d *decision) answer {
	if d.Kind() == Objects {
		return pass
	}
	if _, all := d.carried(); !all {
		return blockf("a request is on its way to the cluster")
	}
	return pass
}

// checkUsed keeps a credential, a certificate or the host keys for an Application on the cluster, even if the Application
// is not permitted.
func checkUsed(d *decision) answer {
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
		return blockf("an Application on the cluster uses it")
	}
	return pass
}

// checkOwnWork keeps objects until the Application's own work is gone: the workload may need them to the end.
func checkOwnWork(d *decision) answer {
	if d.Kind() == Objects && d.OwnWorkExists {
		return blockf("the Application's own work is there")
	}
	return pass
}

// checkLastState blocks the deletion until the agent has applied the work's last state. The last state tells the agent
// what to do with the objects.
func checkLastState(d *decision) answer {
	if !Seen(d.Work) {
		return blockf("the agent has not seen the last state of the work")
	}
	return pass
}
