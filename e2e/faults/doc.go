// Package faults shows that nothing is lost when something fails between Towline and the hub's API server.
//
// A Proxy stands between the two. It counts what Towline writes for an Application, and at the n-th write does one thing: it has
// Towline killed, loses the answer, refuses the write, cuts the connection, or lets it wait. Other faults are of watches: they lag,
// stop, end, and expire.
//
// A Flow is something that people do with an Application, step by step. A Point is a flow with one fault, or two. All points end as
// the same flow without a fault: with the same Applications, works and reports on the hub, and the same Applications and workloads
// on the clusters; and then Towline writes nothing more. What the end of a flow is nobody writes down: the flow is run without a
// fault first, twice, and both must agree.
//
// Names carry the id of their point, so that many points run at a time on one fleet. A kill of Towline meets all of them: so the points that
// want one run in rounds. Each write that is to meet the kill waits in the proxy until all other points of the round have come to
// theirs.
//
// In some flows Towline's agent reports the Application. It comes to the hub through a proxy of its own, and the faults are of what it
// writes. Each of these points has an agent of its own.
//
// The hub, Open Cluster Management and the clusters' API servers are real. Argo CD on the clusters is played by Argo, which compares,
// syncs, runs operations and cascades as Argo CD does, in milliseconds; its workloads are ConfigMaps.
//
// Planted bugs show that the gate notices: a build of Towline with five switches, each of which loses something at a fault only.
package faults
