package hub

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/work"
)

// WriteResult is the result of a write without a failure.
type WriteResult int

const (
	// Written means that the hub has the written work.
	Written WriteResult = iota

	// AlreadyExists means that a work with the name of the work to be created exists already.
	AlreadyExists

	// Conflict means that the work differs from the work as read: the work has changed, or a new work has the name.
	Conflict

	// NotFound means that the work no longer exists.
	NotFound
)

// WriteWork makes all writes of the controllers to ManifestWorks: each call makes a single write of a work. An update
// or a deletion applies only to the same work in the same version as read. The error is any other answer of the API
// server. After a successful Create, w.Work is the created work of the API server.
func WriteWork(ctx context.Context, c client.Writer, w *work.Write) (WriteResult, error) {
	var err error
	switch w.Verb {
	case work.VerbCreate:
		err = c.Create(ctx, w.Work)
	case work.VerbUpdate:
		err = c.Patch(ctx, w.Work, client.MergeFromWithOptions(w.Was, client.MergeFromWithOptimisticLock{}))
	case work.VerbDelete:
		err = c.Delete(ctx, w.Was, client.Preconditions{UID: &w.Was.UID, ResourceVersion: &w.Was.ResourceVersion})
	}
	switch {
	case w.Verb == work.VerbCreate && apierrors.IsAlreadyExists(err):
		return AlreadyExists, nil
	case apierrors.IsConflict(err):
		return Conflict, nil
	case w.Verb != work.VerbCreate && apierrors.IsNotFound(err):
		return NotFound, nil
	}
	return Written, err
}
