// Package bench measures the cost of Towline. It makes a hub with the given numbers of clusters, ApplicationSets and
// Applications on a real etcd and kube-apiserver. It plays the work agents of all clusters, and runs `towline controller`
// as a process, with the arguments, the environment and the rights of its Deployment.
//
// A run also measures a bare client on the same API server with the same number of parallel requests. The ratios are
// therefore valid on any machine. The played agents write the same data as a real work agent (v1.2.0).
//
// The works are in the hub's etcd, or in Maestro behind towline-maestro. Only the agents' connection to the works differs.
//
// The phases, in their order:
//
//	setup        clusters, grants, ApplicationSets
//	limit        a bare client's creates per second, and the round trip of a write
//	rollout      Applications are created while Towline runs, the first half: first create to last work
//	half         with AtOnce: as freshness, with half of the Applications
//	backlog      the second half exists when Towline starts: first work to last work
//	convergence  every agent applies its works and reports: first report to the last status on the hub
//	freshness    one change at a time: agent's report to status and report on the hub, and the cost
//	sync         one sync of a cluster at a time: its cost
//	storm        as freshness, with many changes a second
//	idle         a hub without changes
//	restart      Towline starts again on a converged hub
//	restart-all  with works in Maestro: towline-maestro and Towline start again
//	hostile      works report statuses of the maximum size
//
// A run of Options.Endurance has different phases after backlog and convergence. Applications change for the given time,
// beside a second replica: by a comparison on a cluster, by their specs, by operations, and by deletion and creation. The
// run fails if a change is not shown within a minute, or if a measured value grows.
package bench
