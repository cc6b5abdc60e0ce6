// Package status writes what a cluster reports about an Application into the status of the hub Application: the arrow from the
// cluster back to the hub.
//
// It starts from the hub Application and looks for the one work that this Application must have. It never trusts what a work says
// about itself: a cluster's agent may rewrite its works. So a cluster can report only about the Applications that the hub sends
// to it.
//
// It writes the status of hub Applications, in Argo CD's own fields, with one merge patch for each change, and only values that
// were observed. It writes the conditions that Argo CD sets on the cluster, and those about the work.
package status
