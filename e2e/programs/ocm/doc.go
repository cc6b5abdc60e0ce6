// Package ocm pins the Open Cluster Management that the fleet runs, and holds Towline to it: its tests put the
// works that Towline renders through the work agent's own reader and the webhook's own validation. They read the
// golden files of the root module, so that neither module needs the other.
package ocm
