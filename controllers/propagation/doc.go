// Package propagation turns hub Applications into ManifestWorks: the arrow from the hub to the cluster.
//
// A reconcile handles one Application. It observes (observe*.go: all reads), lets package delivery decide (no reads, no writes),
// and applies the plan (apply.go: all writes). delivery.Decide alone says what happens to an Application, and
// why something waits.
//
// It writes ManifestWorks. On hub Applications it removes Argo CD's finalizers during a deletion, and requests of users once they
// are handled. It sets one condition at a time: an error (PropagationError, PropagationForbiddenError), or something that waits
// (PausedWarning, ReleaseWarning, MoveWarning, DeletionWarning); and RefreshTimeoutWarning. It never writes a spec or a label of
// an Application.
//
// It deletes nothing in doubt. A plan that destroys something is made twice, the second time with facts from the API server
// instead of the cache, and is applied only if both plans are the same. Each deletion is bound to the UID and the version that
// were read.
package propagation
