package work

import (
	workv1 "open-cluster-management.io/api/work/v1"
)

// Verb is what a write does to a work, as metrics name it.
type Verb string

// The verbs of writes.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbDelete Verb = "delete"
)

// Write is one write of a work. An update and a deletion are bound to the UID and the resourceVersion of the work that was read.
type Write struct {
	Verb Verb

	// Was is the work as it was read; nil for one to be created.
	Was *workv1.ManifestWork

	// Work is the work as it is to be; nil for one to be deleted.
	Work *workv1.ManifestWork
}

// Creation makes a work.
func Creation(w *workv1.ManifestWork) Write { return Write{Verb: VerbCreate, Work: w} }

// Change makes a work that was read another.
func Change(was, w *workv1.ManifestWork) Write { return Write{Verb: VerbUpdate, Was: was, Work: w} }

// Deletion deletes a work that was read.
func Deletion(was *workv1.ManifestWork) Write { return Write{Verb: VerbDelete, Was: was} }

// Target is the work that is written.
func (w *Write) Target() *workv1.ManifestWork {
	if w.Verb == VerbDelete {
		return w.Was
	}
	return w.Work
}

// String names the write of a work that exists: by its verb, and by the UID of the work.
func (w *Write) String() string { return string(w.Verb) + " " + string(w.Was.UID) }
