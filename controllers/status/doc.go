// Package status brings what a cluster reports of an Application into the status of the hub Application: the arrow
// from the cluster back to the hub.
//
// It starts from the hub Application and looks for the one work that it must have. What a work says about itself is
// never asked: a cluster's agent may rewrite its works, and so can speak only for the Applications that the hub
// sends to that cluster.
//
// It writes the status of hub Applications, in Argo CD's own fields, with one merge patch a change, and only what
// was observed. Of the conditions it writes those that Argo CD sets on the cluster and those that tell of the work.
package status
