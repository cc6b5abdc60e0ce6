// Package simulation runs the shipped propagation.Reconciler in a simulated world: a model of the hub's API server,
// caches with a lag, clusters with a work agent and an Argo CD, users, and faults. One goroutine runs the whole world,
// controlled by one seed. A failed schedule can be run again and shortened. docs/simulation.md lists the laws.
//
// # Run one seed
//
// A failed test prints the seed. The profiles of the short form are smaller, so a seed needs the flags of its test:
//
//	go test . -run '^TestSimulate$' -simulation.seed 167838 -simulation.schedules 1        # of make simulate
//	go test . -run '^TestSimulate$' -simulation.seed 167838 -simulation.brief 1            # of make test-simulation
//	go test . -run '^TestRecreations$' -simulation.seed 7 -simulation.schedules 1          # of one profile
//
// The same seed always makes the same schedule, until a profile or a model changes: see TestSameSeed. So keep the
// printed script, and not the seed.
//
// # Read a failure
//
// The output has four parts: the broken law, the shortest script, the trace, and the world after the last step. The
// trace has a line for each step, and an indented line for each plan of Towline: the Application, the intent, the writes
// of works, and the conditions. Towline decides twice before a write that destroys, the second time past the cache.
//
//	reconcile b argocd/one
//	    argocd/one: deliver, create c2/one-00008
//	move argocd/one c9
//	rest
//	    argocd/one: deliver, delete c2/one-00006, PropagationError ClusterNotFound
//	    argocd/one: deliver, delete c2/one-00006, PropagationError ClusterNotFound
//
// # Write a script
//
// A script has a step on each line. An impossible step does nothing. At the end, the world heals all faults, comes to
// rest, and is compared with the requests of the users.
//
//	create argocd/one c1 cascade                       # users: see World.asks and the table annotations in step.go
//	settle                                             # all controllers and clusters act until no work is left
//	disconnect c2                                      # mishaps: see World.wrong
//	move argocd/one c2
//	deliver a applications                             # process a sees the next change of a kind
//	reconcile a argocd/one at 3 { delete argocd/one }  # inner steps before the third read or write of the reconcile
//	reconcile a argocd/one at 2 lost-answer            # a fault at the next write from the second read or write on
//	hear c1 one-00006                                  # the agent of c1 sees a work, then acts once
//	agent c1 one-00006
//	wait 6m
//
// The clusters are c1 and c2, and the processes a and b; process a leads. The first Application of a world gets the work
// one-00006. TestScripts runs a script in a file and shows the trace:
//
//	go test . -run '^TestScripts$' -v -simulation.script /tmp/script
//
// A script of a fault belongs into the map scripts, and a decision that was wrong into the table tests of pkg/delivery.
//
// The models follow published rules: the work agent follows OCM v1.2.0 (pkg/work/spoke), and Argo CD follows v2.14. The
// oracle knows the expectations of users. It follows docs/lifecycle.md and no code of the controller.
//
// The package is for tests only: the program does not link any part of it.
package simulation
