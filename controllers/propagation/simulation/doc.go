// Package simulation runs the shipped propagation.Reconciler in a simulated world: a model of the hub's API server,
// caches with a lag, clusters with a work agent and an Argo CD, users, and faults. One goroutine runs the whole world,
// controlled by one seed. A failed schedule can be run again and shortened.
//
// The models follow published rules: the work agent follows OCM v1.2.0 (pkg/work/spoke), and Argo CD follows v2.14. The
// oracle knows the expectations of users. It follows docs/lifecycle.md and no code of the controller.
//
// The package is for tests only: the program does not link any part of it.
package simulation
