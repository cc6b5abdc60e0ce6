// Package agent is what runs on a managed cluster: it tells the hub of each Application that came from there, in an
// ApplicationReport in the cluster's own namespace on the hub.
//
// It follows the cluster's Applications and writes one report for each that changed, at most every 200 ms. It keeps
// no queue of reports: what waits is an Application's name, and what is written is what the Application looks like
// by then. So a hub that cannot be reached for hours costs nothing, and afterwards each report is written once.
//
// The marks on a cluster's Application are anyone's to copy there. Of several with the same mark, one is reported, and the
// hub believes a report only on the Application that it has sent. The agent reads no ManifestWork: the hub makes that the
// owner of its report.
//
// An Argo CD that stands still changes nothing on its Applications. The agent tells the hub once when an Application was
// not compared for long, and once when it was: that Argo CD compares in time costs the hub nothing.
//
// With Options.ArgoCDTree it also reports the live resources that the cluster's Argo CD knows: what is in Git, and the ReplicaSets, Pods
// and so on that come of it. Argo CD keeps them in its Redis and says there when they change. The agent listens to that one channel
// and polls nothing; a tree is read when a report is made, at most every five seconds for changes of live resources alone. A Redis that
// is away costs the reports their live resources and nothing else.
//
// It never changes anything on its cluster, and never deletes: reports go with their ManifestWorks.
package agent
