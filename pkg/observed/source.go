package observed

import (
	"iter"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// InWordsOf returns the facts with the hub's addresses of the Application's repositories in all messages. A cluster that
// reads through the hub reports the addresses at its agent. The sources of the history stay, because package history
// compares the sources with the hub's.
func (f *Facts) InWordsOf(app *argocd.Application) *Facts {
	if f == nil || !names(&f.Status, func(text string) bool { return strings.Contains(text, "https://") }) {
		return f // most facts
	}
	known := source.KnownOf(app)
	if !names(&f.Status, func(text string) bool { return known.InText(text) != text }) {
		return f
	}
	out := *f
	out.Status = *f.Status.DeepCopy()
	for text := range messages(&out.Status) {
		*text = known.InText(*text)
	}
	return &out
}

// names reports whether a message of a status has a property.
func names(s *argocd.Status, has func(string) bool) bool {
	for text := range messages(s) {
		if has(*text) {
			return true
		}
	}
	return false
}

// messages returns the messages of a status. Most facts have no message with an address, so the messages are not
// collected.
func messages(s *argocd.Status) iter.Seq[*string] {
	return func(yield func(*string) bool) {
		if !yield(&s.Health.Message) {
			return
		}
		for i := range s.Conditions {
			if !yield(&s.Conditions[i].Message) {
				return
			}
		}
		for i := range s.Resources {
			if h := s.Resources[i].Health; h != nil && !yield(&h.Message) {
				return
			}
		}
		o := s.OperationState
		if o == nil || !yield(&o.Message) || o.SyncResult == nil {
			return
		}
		for i := range o.SyncResult.Resources {
			if !yield(&o.SyncResult.Resources[i].Message) {
				return
			}
		}
	}
}
