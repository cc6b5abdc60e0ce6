package gauge

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestSince(t *testing.T) {
	app := types.NamespacedName{Namespace: "x", Name: "a"}
	first := time.Unix(100, 0)
	var s Since
	if got := s.Take(app); !got.IsZero() {
		t.Errorf("nothing waits, and it says since %v", got)
	}
	s.Note(app, time.Time{})
	s.Note(app, first.Add(time.Second))
	s.Note(app, first)
	s.Note(app, first.Add(2*time.Second))
	if got := s.Take(app); got != first {
		t.Errorf("it waits since %v, want %v", got, first)
	}
	if got := s.Take(app); !got.IsZero() {
		t.Errorf("it was taken, and waits since %v still", got)
	}
	if len(s.times) != 0 {
		t.Errorf("it remembers %v", s.times)
	}
}
