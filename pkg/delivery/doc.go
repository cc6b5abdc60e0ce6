// Package delivery decides about an Application: the writes and deletions of ManifestWorks, the removal of Argo CD's
// finalizers from the hub's Application, the conditions of the Application, and the time of the next check.
//
// Decide is a pure function from Facts to a Plan. The caller observes the facts and applies the plan. Decide has no
// client, no clock and no log. The controller, `kubectl towline why` and the simulation call the same function. Some
// facts are rarely needed, and a decision requests them: a Plan with a Need must be made again, with the requested
// facts.
//
// A check (checks.go) may block an Application. A list of steps brings a work to its end: removing, revoking and
// dropping (remove.go), releasing (release.go), arriving (move.go), relocating (relocate.go). The order is from top
// to bottom: a work waits at its first unfinished step. Checks and steps read a view of the facts and return the
// required writes. They cannot change the plan. Each check or step contains its text for the user. Gates lists all
// checks and steps.
//
// A plan that destroys something must be made twice, the second time from facts read past the cache: see
// Plan.Destroys.
//
// TestReadingOrder has the order for reading the files.
package delivery
