// Package faults shows that nothing is lost when a fault occurs between Towline and the hub's API server.
//
// A Proxy stands between Towline and the API server. The proxy counts Towline's writes for an Application. At the n-th
// write, the proxy has Towline killed, loses the answer, refuses the write, cuts the connection, or delays the write.
// Further faults concern watches: they lag, stop, end, and expire.
//
// A Flow is a sequence of users' actions on an Application. A Point is a flow with one or two faults. All points must
// end like the same flow without a fault: with the same Applications, works and reports on the hub, and the same
// Applications and workloads on the clusters. Afterwards, Towline writes nothing more. The expected end is not written
// down: the gate first runs each flow without a fault, twice, and both runs must agree.
//
// The names of the objects contain the id of the point. Many points can therefore run in parallel on one fleet. A kill of Towline affects all
// running points. Therefore points with a kill run in rounds: each write for the kill waits in the proxy until all
// points of the round have arrived at their writes.
//
// In some flows, Towline's agent reports the Application. The agent uses its own proxy to the hub, and the faults
// concern the agent's writes. Each of these points has its own agent.
//
// The hub, Open Cluster Management and the clusters' API servers are real. Argo plays Argo CD on the clusters. Argo
// compares, syncs, runs operations and cascades as Argo CD does, in milliseconds; its workloads are ConfigMaps.
//
// Planted bugs show that the gate detects losses: a build of Towline has five switches, and each switch loses data only
// at a fault.
package faults
