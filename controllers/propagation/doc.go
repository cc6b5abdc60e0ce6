// Package propagation turns hub Applications into ManifestWorks: the arrow from the hub to the cluster.
//
// A reconcile looks at one Application. If it is going, so does its work, and Argo CD's finalizer on the hub is
// released when the work is gone, which is when the cluster has removed the Application. If it cannot be sent as
// it is, a condition and an event say why, and nothing that runs on a cluster is touched. Otherwise its work is
// made to say what pkg/work renders.
//
// It writes ManifestWorks, Argo CD's finalizers on hub Applications that are being deleted, and one condition,
// PropagationError or PropagationForbiddenError, in their status. It never writes a spec, a label or an annotation of an Application.
//
// Nothing is deleted on doubt: an Application counts as gone only when the API server itself, not the cache, says
// that this object does not exist.
package propagation
