// Package agent runs on a managed cluster. It reports each Application from the hub in an ApplicationReport, in the
// cluster's own namespace on the hub.
//
// The agent follows the cluster's Applications and writes a report for each changed Application, at most every 200 ms.
// The queue holds names of Applications, not reports: the agent reports the Application's state at the time of the
// write. During hours without the hub, the agent therefore needs no extra memory, and afterwards writes each report
// once.
//
// Any user on the cluster can copy the marks of an Application. If several Applications have the same mark, the agent
// reports a single Application, and the hub accepts a report only about the sent Application. The agent reads no
// ManifestWork: the hub makes the ManifestWork the owner of its report.
//
// A stopped Argo CD changes nothing on its Applications. The agent reports once that an Application was not compared
// for long, and once that the Application was compared again. While Argo CD compares in time, the agent writes nothing
// about comparisons.
//
// With Options.ArgoCDTree, the agent also reports the live resources known to the cluster's Argo CD. Live resources
// are the resources in Git and their children, such as ReplicaSets and Pods. Argo CD keeps the live resources in its Redis and
// announces changes in a channel of Redis. The agent listens to the channel and does not poll. The agent reads a tree
// for each report, and at most every five seconds if only live resources change. While Redis does not answer, the
// reports have no live resources.
//
// An Application with a deleted report and without a work agent as owner has no ManifestWork. The hub has released the
// Application, or a backup of the cluster has restored the Application. The agent counts the Application. If the agent
// did not see the release, it also records an event.
//
// With Options.ArgoCDManagedResources, the agent also sends the managed resources of the Applications from the Redis of
// the cluster's Argo CD to towline-source on the hub: see managed.
//
// With Options.Source, the agent also serves Git repositories of the hub to the cluster's Argo CD: see sourceproxy. The
// agent then writes the proxy's password and certificate authority on its cluster.
//
// The agent changes nothing else on its cluster, and never deletes: reports are deleted with their ManifestWorks.
package agent
