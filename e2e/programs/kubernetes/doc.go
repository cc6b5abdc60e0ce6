// Package kubernetes pins the oldest version of Kubernetes that Towline supports, for `make e2e OLDEST=1`.
package kubernetes
