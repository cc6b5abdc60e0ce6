// Package status writes a cluster's report about an Application into the status of the hub Application: the arrow from
// the cluster back to the hub.
//
// The package starts from the hub Application and looks for the Application's own work. It never trusts the annotations
// of a work, because a cluster's agent may rewrite its works. So a cluster can report only about the Applications that
// the hub sends to the cluster.
//
// The package writes the status of hub Applications, in Argo CD's own fields, with one merge patch for each change, and
// only observed values. It writes the conditions that Argo CD sets on the cluster, and the conditions about the work.
package status
