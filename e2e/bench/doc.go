// Package bench measures what Towline costs: it makes a hub of so many clusters, ApplicationSets and Applications on a
// real etcd and kube-apiserver, plays the work agents of all clusters, and runs `towline controller` as a process, with
// the arguments, the environment and the rights of its Deployment.
//
// Everything is measured in one run, side by side with what a bare client reaches on the same API server at the same
// parallelism, so that ratios hold on any machine. What the agents write was taken from a real work agent (v1.2.0).
//
// The works are in the hub's etcd, or in Maestro behind towline-maestro; how the agents reach them is all that differs.
//
// The phases, in their order:
//
//	setup        clusters, their grants, ApplicationSets
//	limit        creates per second, and the round trip of one write, of a bare client
//	rollout      half of the Applications are made while Towline runs: first create to last work
//	backlog      the other half is there when Towline starts: first work to last work
//	convergence  every agent applies its works and reports: first report to the last status on the hub
//	freshness    one change at a time: report of the agent to status and to report on the hub; its cost
//	storm        many changes a second, the same
//	idle         nothing happens
//	restart      Towline, and towline-maestro, start anew on a hub where all is said
//
// A run of Options.Endurance has other phases after backlog and convergence: Applications change for as long as is wished, beside a second
// replica: by what a cluster finds, by their specs, by operations, and by being deleted and made again. It fails where a change is not shown
// within a minute, or anything grows.
package bench
