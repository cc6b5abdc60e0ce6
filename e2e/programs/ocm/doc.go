// Package ocm pins the oldest version of Open Cluster Management that Towline supports, for `make e2e OLDEST=1`.
package ocm
