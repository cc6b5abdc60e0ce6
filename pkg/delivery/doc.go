// Package delivery decides what becomes of an Application: which ManifestWorks are written and deleted, which of Argo CD's
// finalizers go from the hub's Application, what it shows, and when to look again.
//
// Decide is a pure function from Facts, which somebody else has observed, to a Plan, which somebody else applies. It has no
// client, no clock and no log. The controller, `kubectl towline why` and the simulation call the same one. A decision asks for
// facts that few decisions depend on: a Plan that lacks some says so, and is to be made again with them.
//
// A check (checks.go) may block an Application. A list of steps brings a work to its end: removing, revoking and dropping
// (remove.go), releasing (release.go), arriving (move.go), relocating (relocate.go). A list is read from top to bottom; a work
// waits at the first step that is not done. Checks and steps read a view of the facts, and return what is to be written: they
// cannot change the plan. The text for the user stands in the check or step that waits. Gates lists all of them.
//
// A plan that destroys something is to be made twice, the second time from facts that were read past the cache: see
// Plan.Destroys.
//
// TestReadingOrder has the order in which the files are to be read.
package delivery
