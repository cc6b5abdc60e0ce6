package dependencies

import (
	"testing"

	"github.com/towline-io/towline/pkg/fixture/shape"
)

// TestShape: only apply.go writes, only observe*.go reads, and watches*.go map a change to the requests.
func TestShape(t *testing.T) { shape.Check(t, 39) }

// TestDepth: a reader of Reconcile does not have to follow long chains of calls.
func TestDepth(t *testing.T) { shape.Depth(t, "Reconcile", 7) }
