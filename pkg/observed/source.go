package observed

import (
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
	for _, text := range messages(&out.Status) {
		*text = known.InText(*text)
	}
	return &out
}

// names reports whether a message of a status has a property.
func names(s *argocd.Status, has func(string) bool) bool {
	for _, text := range messages(s) {
		if has(*text) {
			return true
		}
	}
	return false
}

// messages returns the non-empty messages of a status.
func messages(s *argocd.Status) (out []*string) {
	add := func(text *string) {
		if *text != "" {
			out = append(out, text)
		}
	}
	add(&s.Health.Message)
	for i := range s.Conditions {
		add(&s.Conditions[i].Message)
	}
	for i := range s.Resources {
		if h := s.Resources[i].Health; h != nil {
			add(&h.Message)
		}
	}
	if o := s.OperationState; o != nil {
		add(&o.Message)
		if o.SyncResult != nil {
			for i := range o.SyncResult.Resources {
				add(&o.SyncResult.Resources[i].Message)
			}
		}
	}
	return out
}
