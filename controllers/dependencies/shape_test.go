package dependencies

import (
	"testing"

	"github.com/towline-io/towline/pkg/fixture/shape"
)

// TestShape: only apply.go writes, only observe*.go reads, and watches*.go look up whom a change wakes.
func TestShape(t *testing.T) { shape.Check(t, 37) }

// TestDepth: who reads Reconcile follows no chain of calls for long.
func TestDepth(t *testing.T) { shape.Depth(t, "Reconcile", 7) }
