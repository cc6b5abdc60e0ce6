// Package propagation turns hub Applications into ManifestWorks: the arrow from the hub to the cluster.
//
// A reconcile looks at one Application. If it is going, so does its work, and Argo CD's finalizer on the hub is
// released when the work is gone, which is when the cluster has removed the Application. If it cannot be sent as
// it is, a condition and an event say why, and nothing that runs on a cluster is touched. If it is not Towline's any
// more, its works are let go of and what they brought stays. Otherwise its work is made to say what pkg/work renders.
//
// It writes ManifestWorks, Argo CD's finalizers on hub Applications that are being deleted, what they ask of Argo CD
// once that has been dealt with, and of the conditions in their status one at a time: what is wrong
// (PropagationError, PropagationForbiddenError), or what takes its time or holds (PausedWarning, ReleaseWarning,
// MoveWarning, DeletionWarning); and RefreshTimeoutWarning. It never writes a spec or a label of an Application.
//
// Nothing is deleted on doubt: an Application counts as gone only when the API server itself, not the cache, says
// that this object does not exist.
package propagation
