package works

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/work"
)

// Outcome is what became of a write that has not failed.
type Outcome int

const (
	// Written says that the hub has it now.
	Written Outcome = iota

	// Exists says that another work has the name of the one to be created.
	Exists

	// Conflict says that the work is another than was read: it has changed, or its name has gone to another.
	Conflict

	// Gone says that the work does not exist any more.
	Gone
)

// Write makes one write of a work. An update and a deletion meet exactly the work that was read, in the version that was read.
// The error is any other answer of the API server. Where Create has succeeded, w.Work is what the API server has made.
func Write(ctx context.Context, c client.Writer, w *work.Write) (Outcome, error) {
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
		return Exists, nil
	case apierrors.IsConflict(err):
		return Conflict, nil
	case w.Verb != work.VerbCreate && apierrors.IsNotFound(err):
		return Gone, nil
	}
	return Written, err
}
