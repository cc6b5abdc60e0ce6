// Package propagation turns hub Applications into ManifestWorks: the arrow from the hub to the cluster.
//
// A reconcile handles one Application. The reconcile observes (observe*.go: all reads), lets package delivery decide
// (no reads, no writes), and applies the plan (apply.go: all writes). Only delivery.Decide decides about an
// Application, and gives the reasons to wait.
//
// The package writes ManifestWorks. On hub Applications, the package removes Argo CD's finalizers during a deletion,
// removes handled requests of users, gives requested operations an identity, and requests refreshes. The package sets
// the conditions of the plan, at most one of each type: an error (PropagationError, PropagationForbiddenError), a wait
// (PausedWarning, ReleaseWarning, MoveWarning, DeletionWarning), or repeated edits (EditedOnClusterWarning).
// RefreshTimeoutWarning comes in addition. The package never writes a spec or a label of an Application.
//
// The package deletes nothing in doubt. A destructive plan is made twice, the second time with facts from the API
// server instead of the cache. The plan is applied only if both plans are the same. Each deletion is bound to the UID
// and the version of the observed object.
package propagation
