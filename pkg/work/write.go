package work

import (
	workv1 "open-cluster-management.io/api/work/v1"
)

// Verb is the kind of a write to a work, as named in metrics.
type Verb string

// The verbs of writes.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbDelete Verb = "delete"
)

// Write is one write to a work. An update and a deletion have the UID and the resourceVersion of the read work as
// preconditions.
type Write struct {
	Verb Verb

	// Was is the work as read; nil for a creation.
	Was *workv1.ManifestWork

	// Work is the desired work; nil for a deletion.
	Work *workv1.ManifestWork
}

// Creation returns the write that creates a work.
func Creation(w *workv1.ManifestWork) Write { return Write{Verb: VerbCreate, Work: w} }

// Change returns the write that updates a work from the state as read.
func Change(was, w *workv1.ManifestWork) Write { return Write{Verb: VerbUpdate, Was: was, Work: w} }

// Deletion returns the write that deletes a work from the state as read.
func Deletion(was *workv1.ManifestWork) Write { return Write{Verb: VerbDelete, Was: was} }

// Target returns the written or deleted work.
func (w *Write) Target() *workv1.ManifestWork {
	if w.Verb == VerbDelete {
		return w.Was
	}
	return w.Work
}

// String returns the verb and the UID of an existing work.
func (w *Write) String() string { return string(w.Verb) + " " + string(w.Was.UID) }
