package delivery

import "testing"
import "github.com/towline-io/towline/pkg/fixture/shape"

func TestMeasure(t *testing.T) { shape.Measure(t, "Decide", "decision") }
