// Package agent runs on a managed cluster. It reports each Application that came from the hub, in an ApplicationReport in the
// cluster's own namespace on the hub.
//
// It follows the cluster's Applications and writes one report for each Application that changed, at most every 200 ms. It queues
// names of Applications and not reports: it writes what the Application looks like at the time of the write. So it needs no
// memory for a hub that cannot be reached for hours, and afterwards writes each report once.
//
// Anyone on the cluster can copy the marks of an Application. If several Applications have the same mark, the agent reports one
// of them, and the hub accepts a report only about the Application that it has sent. The agent reads no ManifestWork: the hub
// makes the ManifestWork the owner of its report.
//
// An Argo CD that stands still changes nothing on its Applications. The agent reports once that an Application was not compared
// for long, and once that it was compared again. As long as Argo CD compares in time, the agent writes nothing about it.
//
// With Options.ArgoCDTree it also reports the live resources that the cluster's Argo CD knows: those in Git, and what they have
// made, such as ReplicaSets and Pods. Argo CD keeps them in its Redis and announces changes there. The agent listens to this one
// channel and does not poll. It reads a tree when it makes a report, and at most every five seconds if only live resources
// change. While Redis does not answer, the reports have no live resources.
//
// An Application whose report is deleted, and that no work agent owns, has no ManifestWork: it was released, or a backup of the cluster
// brought it back. The agent counts it, and records an event if it did not see the release.
//
// The agent changes nothing else on its cluster, and never deletes: reports are deleted with their ManifestWorks.
package agent
