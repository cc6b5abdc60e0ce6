// Package delivery decides about an Application of the hub. A decision contains the writes and deletions of
// ManifestWorks, the removal of Argo CD's finalizers, the conditions of the Application, and the time of the next
// check.
//
// Decide is a pure function from Facts to a Plan. The caller observes the facts and applies the plan. Decide has no
// client, no clock and no log. The controller, `kubectl towline why` and the simulation call the same function. Some
// facts are rarely needed. A decision requests these facts by Plan.Required. The caller then reads the facts, and calls
// Decide again.
//
// A check (checks.go) may block an Application. A list of steps prepares a change. Before the deletion of a work:
// removing, revoking and dropping (remove.go), revocable (revoke.go), releasingSteps (release.go), handingOver
// (handover.go), orphaned and keeping (orphan.go), outlasting (outage.go). Before a delivery to a new target: arriving
// (move.go), relocating (relocate.go). The order is from top to bottom: a work waits at its first unfinished step. A
// notice tells the user about an operation under way. Checks and steps read a view of the facts and return the
// required writes. They cannot change the plan. Each check or step contains its text for the user. Gates returns all
// checks, steps and notices.
//
// Words of this package: the own work of an Application has the key from work.Key. A leaving work is in preparation
// for its deletion. An orphan is a work whose Application is missing on the hub. An earlier Application had the same
// namespace and name as the Application, and another UID. A claimant is another Application with the same target. A
// request takes the place of the Application in a work: see package work. The agent is Open Cluster Management's work
// agent on the cluster. An older controller is a pull controller of multicloud-integrations.
//
// A plan that destroys something must be made twice, the second time from facts read past the cache: see
// Plan.Destroys. To read past the cache means to read from the API server itself.
//
// TestReadingOrder lists the files in a good order for a reader: callers before the called functions.
package delivery
