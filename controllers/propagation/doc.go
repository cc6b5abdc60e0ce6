// Package propagation turns hub Applications into ManifestWorks: the arrow from the hub to the cluster.
//
// A reconcile looks at one Application. It observes (observe*.go: all reads), has package delivery decide (no reads, no writes),
// and applies the plan (apply.go: all writes). What becomes of an Application, and why something waits, is to be read in
// delivery.Decide and delivery.Gates alone.
//
// It writes ManifestWorks, Argo CD's finalizers on hub Applications that are being deleted, what they ask of Argo CD
// once that has been dealt with, and of the conditions in their status one at a time: what is wrong
// (PropagationError, PropagationForbiddenError), or what takes its time or holds (PausedWarning, ReleaseWarning,
// MoveWarning, DeletionWarning); and RefreshTimeoutWarning. It never writes a spec or a label of an Application.
//
// Nothing is deleted on doubt: a plan that destroys something is made twice, the second time from what the API server, not the
// cache, has, and is applied only if both come to the same; each deletion is bound to the UID and the version that were read.
package propagation
