package simulation

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/controllers/internal/grants"
)

// revoking are the options of a hub with --on-revocation=delete.
func revoking() Options {
	return Options{Names: []string{"c1", "c2"}, Clusters: grants.BindingOrPlacement, DeleteOnRevocation: true}
}

func limited() Options {
	o := revoking()
	o.Limit = 1
	return o
}

// binding are the options of a hub that deletes nothing after lost rights.
func binding() Options {
	o := revoking()
	o.DeleteOnRevocation = false
	return o
}

func hubItself() Options { return Options{Names: []string{"c1", "c2"}, Hub: "c1"} }

func sameNames() Options { return Options{Names: []string{"c1", "c2"}, SameNames: true} }

// gateScripts are scripts in which a gate blocks and then opens, by the name of the gate.
var gateScripts = map[string]struct {
	options func() Options
	script  string
}{
	"frozen": {binding, `create argocd/one c1 cascade auto
		settle
		bind argocd off
		settle
		bind argocd`},
	"hub operation": {nil, `create argocd/one c1 cascade
		hub-sync argocd/one
		settle
		hub-sync argocd/one off`},
	"destination": {nil, `create argocd/one c1 cascade
		older argocd/one early
		destination argocd/one https://behind.example.com
		settle
		destination argocd/one`},
	"paused": {nil, `create argocd/one c1 cascade
		settle
		pause argocd/one true
		spec argocd/one v2`},
	"cluster paused": {nil, `create argocd/one c1 cascade
		settle
		pause-cluster c1 true
		move argocd/one c2
		wait 6m`},
	"release paused": {nil, `create argocd/one c1 cascade
		settle
		disconnect c2
		move argocd/one c2
		settle
		pause-cluster c1 true
		release argocd/one true`},
	"release undecided": {nil, `create argocd/one c1 cascade
		settle
		release argocd/one perhaps
		delete argocd/one
		settle
		release argocd/one`},
	"outage": {nil, `create argocd/one c1 cascade followed
		settle
		disconnect c1
		settle
		drop c1
		connect c1
		wait 70s
		wait 70s
		settle
		drop c1 off`},
	"return after an outage": {nil, `create argocd/one c1 cascade followed
		settle
		disconnect c1
		settle
		set-controller off
		connect c1
		settle
		wait 6m
		settle
		wait 6m
		settle`},
	"cluster named": {nil, `create argocd/one c1 cascade
		settle
		move argocd/one
		settle
		move argocd/one c2`},
	"cluster name": {nil, `create argocd/one c1 cascade
		settle
		move argocd/one c_1
		settle
		move argocd/one c1`},
	"namespace": {nil, `create argocd/one c1 cascade
		namespace argocd/one a_b
		settle
		namespace argocd/one`},
	"reconcile skipped": {nil, `create argocd/one c1 cascade
		settle
		skip argocd/one
		settle
		skip argocd/one true`},
	"annotations": {nil, `create argocd/one c1 cascade
		settle
		release argocd/one perhaps
		settle
		release argocd/one`},
	"cluster exists": {nil, `detach c1
		create argocd/one c1 cascade
		settle
		join c1`},
	"cluster stays": {nil, `dying c1
		create argocd/one c1 cascade
		settle
		move argocd/one c2`},
	"cluster accepted": {nil, `create argocd/one c1 cascade
		accept c1 off
		settle
		accept c1`},
	"own copy": {hubItself, `create argocd/one c1 cascade
		settle
		namespace argocd/one apps`},
	"hub copy": {hubItself, `create argocd/one c1 cascade
		hub-copy apps/one
		namespace argocd/one apps
		settle
		hub-copy apps/one off
		wait 70s`},
	"spec": {nil, `create argocd/one c1 cascade
		settle
		spec argocd/one bad
		settle
		spec argocd/one v2`},
	"sources": {nil, `create argocd/one c1 cascade
		spec argocd/one chart
		settle
		source argocd/one hub
		settle
		source argocd/one direct`},
	"grant": {nil, `project narrow
		create argocd/one c1 cascade
		settle
		project wide`},
	"claimants": {nil, `create team-a/one c1 cascade
		settle
		create argocd/one c1 cascade
		namespace argocd/one team-a
		settle
		delete team-a/one`},
	"target free": {nil, `create team-a/one c1 cascade
		settle
		disconnect c1
		move team-a/one c2
		create argocd/one c1 cascade
		namespace argocd/one team-a
		settle
		connect c1`},
	"executor": {nil, `project executor
		create argocd/one c1 cascade
		settle
		project wide`},
	"own work": {nil, `create argocd/one c1 cascade
		settle
		squat c2
		move argocd/one c2
		settle
		squat c2 off
		wait 70s`},
	"another's work": {sameNames, `create argocd/one c1 cascade
		settle
		create team-a/one c1 cascade
		settle
		delete argocd/one`},
	"disabled": {nil, `create argocd/one c1 cascade
		settle
		disable c1`},
	"predecessor": {nil, `create argocd/one c1
		settle
		delete argocd/one
		turn a
		round c1
		turn a
		round c1
		turn a
		create argocd/one c1`},
	"rehearsal": {nil, `create argocd/one c1 cascade old-first
		settle
		no-namespace c2
		move argocd/one c2
		settle`},
	"new cluster": {nil, `create argocd/one c1 cascade old-first
		settle
		disconnect c2
		move argocd/one c2
		settle
		connect c2`},
	"old cluster": {nil, `create argocd/one c1 cascade old-first
		settle
		move argocd/one c2`},
	"return": {nil, `rules on
		create team-a/one c1 cascade
		namespace team-a/one apps
		settle
		operation team-a/one r1
		turn a
		turn a
		round c1
		turn a
		turn a
		round c1
		turn a
		rules off
		spec team-a/one v2
		namespace team-a/one
		settle
		rules on`},
	"relocation": {nil, `create argocd/one c1 cascade
		settle
		namespace argocd/one apps`},
	"operation grant": {nil, `create argocd/one c1 cascade
		settle
		operation argocd/one forbidden
		settle
		withdraw argocd/one`},
	"operation": {nil, `create argocd/one c1 cascade
		settle
		operation argocd/one invalid
		settle
		withdraw argocd/one`},
	"payload": {nil, `create argocd/one c1 cascade
		spec argocd/one large
		settle
		spec argocd/one v1`},
	"write": {nil, `no-namespace c1
		create argocd/one c1 cascade
		settle`},
	"adoption": {nil, `by-hand c1 argocd/one
		create argocd/one c1 cascade
		spec argocd/one v2
		settle
		adopt argocd/one always`},
	"edits": {nil, `create argocd/one c1 cascade
		settle
		edit-there c1 argocd/one
		settle
		edit-there c1 argocd/one
		settle
		wait 70s
		edit-there c1 argocd/one
		settle
		wait 70s
		edit-there c1 argocd/one
		settle
		wait 70s
		edit-there c1 argocd/one
		settle
		wait 70s`},
	"move": {nil, `create argocd/one c1 cascade
		settle
		move argocd/one c2`},
	"release": {nil, `create argocd/one c1 cascade
		settle
		release argocd/one true`},
	"released": {nil, `create argocd/one c1 cascade
		settle
		release argocd/one true
		settle
		release argocd/one`},
	"deletion": {nil, `create argocd/one c1 cascade
		settle
		delete argocd/one`},
	"grant missing": {revoking, `create argocd/one c1 cascade
		settle
		bind argocd off
		settle
		wait 2m
		settle
		set c1 out
		bind argocd
		settle`},
	"too many revocations": {limited, `create argocd/one c1 cascade
		create argocd/two c1 cascade
		settle
		project narrow
		settle
		wait 2m
		settle
		project wide`},
	"grace": {revoking, `create argocd/one c1 cascade
		settle
		project narrow
		settle
		wait 61s
		settle`},
	"revocation": {revoking, `create argocd/one c1
		settle
		project narrow
		settle
		wait 61s
		settle`},
	"requested operation": {nil, operationSent + `
		release argocd/one true`},
	"running operation": {nil, operationSent + `
		turn a
		argo c1 argocd/one
		round c1
		delete argocd/one`},
	"hand-over": {nil, `create argocd/one c1 cascade
		spec argocd/one v1-push
		settle
		skip argocd/one
		label argocd/one
		settle`},
	"finalizers": {nil, `create argocd/one c1
		settle
		finalizers argocd/one cascade
		delete argocd/one`},
	"return of a request": {nil, operationSent + `
		project narrow
		spec argocd/one v2
		release argocd/one true
		turn a
		turn a
		project wide`},
	"side manifests": {nil, `create argocd/one c1
		older argocd/one unruled
		delete argocd/one
		create argocd/one c1`},
	"preparation": {nil, `create argocd/one c1 cascade
		settle
		release argocd/one true`},
	"dependencies": {nil, `create argocd/one c1 cascade
		settle
		dependencies c1 hold
		release argocd/one true
		settle
		dependencies c1 free`},
	"loss": {nil, `create argocd/one c1
		settle
		crash a
		delete argocd/one
		crash a`},
}

// olderScript begins with a work of an older controller without an update strategy.
const olderScript = `create argocd/one c1 cascade
	older argocd/one early
	settle
	move argocd/one c2`

// operationSent begins scripts in which a work carries an operation. The agent has applied the operation, and has not
// reported the result.
const operationSent = `create argocd/one c1 cascade
		settle
		operation argocd/one r1
		turn a
		turn a
		round c1
		turn a
		turn a
		round c1
		turn a`

// optionsOf returns the options of a script; the default options for nil.
func optionsOf(of func() Options) Options {
	if of == nil {
		return Options{Names: []string{"c1", "c2"}}
	}
	return of()
}

// TestOlder: Towline takes over the Application of an older controller, in each form of the work. The Application then
// moves, ends or is released as usual. The objects beside the Application in the works stay.
func TestOlder(t *testing.T) {
	scripts := map[string]string{"early": olderScript}
	for _, create := range []string{"c1 cascade", "c1", "c1 cascade of-set", "c1 of-set"} {
		for _, how := range []string{"", "disabled", "early", "unruled"} {
			begin := "create argocd/one " + create + "\nolder argocd/one " + how + "\n"
			for name, end := range map[string]string{
				"stays": "", "moves": "settle\nmove argocd/one c2", "moves at once": "move argocd/one c2",
				"ends": "settle\ndelete argocd/one", "ends at once": "delete argocd/one", "ends while nobody leads": "delete argocd/one\ncrash a",
				"is released": "settle\nrelease argocd/one true", "is released at once": "release argocd/one true",
				"changes its namespace": "settle\nnamespace argocd/one apps", "changes its namespace at once": "namespace argocd/one apps",
				"changes, and nothing is to be adopted": "adopt argocd/one never\nspec argocd/one v2",
				"runs an operation":                     "operation argocd/one r1",
				"is made again":                         "finalizers argocd/one\ndelete argocd/one\ncreate argocd/one c1 cascade",
				"ends by force":                         "fail c1\nforce argocd/one\ndelete argocd/one\nsettle\nmend c1",
			} {
				scripts[strings.Join([]string{create, how, name}, ", ")] = begin + end
			}
		}
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			if w := Replay(optionsOf(nil), Parse(script)); w.failure != nil || w.stats.verbs["older"] == 0 {
				t.Errorf("%v\n%s", w.failure, w)
			}
		})
	}
}

// TestRefusedSinceRelease: if a user withdraws a release, Towline checks the rights of the Application again, even if
// only a read past the cache shows the withdrawal.
func TestRefusedSinceRelease(t *testing.T) {
	script := `create argocd/one c1 cascade
		settle
		release argocd/one true
		catch-up a
		reconcile a argocd/one
		round c1
		round c1
		project narrow
		catch-up a
		release argocd/one
		spec argocd/one v2
		reconcile a argocd/one`
	if w := Replay(optionsOf(nil), Parse(script)); w.failure != nil {
		t.Errorf("%v\n%s", w.failure, w)
	}
}

// TestGates: every gate has a script in which the gate blocks and then opens.
func TestGates(t *testing.T) {
	for _, gate := range gates {
		t.Run(gate, func(t *testing.T) {
			tc, ok := gateScripts[gate]
			if !ok {
				t.Fatal("no script has this gate")
			}
			w := Replay(optionsOf(tc.options), Parse(tc.script))
			if w.failure != nil {
				t.Errorf("%s\n%s", w.failure, w)
			}
			if w.stats.held[gate] == 0 || w.stats.opened[gate] == 0 {
				t.Errorf("held %d times and opened %d times: held %v, opened %v\n%s",
					w.stats.held[gate], w.stats.opened[gate], w.stats.held, w.stats.opened, w)
			}
		})
	}
}
