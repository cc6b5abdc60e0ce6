// Package simulation runs propagation.Reconciler, as it ships, in a world of its own: a model of the hub's API server, caches
// that lag, clusters with a work agent and an Argo CD, users, and faults. Everything happens in one goroutine and by one
// seed, so that a schedule that fails can be run again and made shorter.
//
// The models follow published rules: the work agent those of OCM v1.2.0 (pkg/work/spoke), Argo CD those of v2.14. What users
// may expect is in the oracle, which follows docs/lifecycle.md and nothing of the controller.
//
// It is for tests only: nothing of it is linked into the program.
package simulation
