// Package delivery decides what becomes of an Application: which ManifestWorks are written and deleted, which of Argo CD's
// finalizers go from the hub's Application, what it shows, and when to look again.
//
// Decide is a pure function from Facts, which somebody else has observed, to a Plan, which somebody else applies. It has no
// client, no clock and no log. The controller, `kubectl towline why` and the simulation call the same one. Facts that few
// decisions depend on are asked for: a Plan that lacks some says so, and is to be made again with them.
//
// Gates holds every reason to wait. A plan that destroys something is to be made twice, the second time from facts that were
// read past the cache: see Plan.Destroys.
package delivery
