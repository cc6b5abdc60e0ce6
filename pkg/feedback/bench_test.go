package feedback_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// BenchmarkParse measures the parsing in every reconcile of status and aggregation, for each Application.
func BenchmarkParse(b *testing.B) {
	id := work.Identifier(fixture.Application("guestbook").Obj())
	status := fixture.Feedback(id).Healthy("53e28ff20cc530b9ada2173fbbd64d48338583ba").Obj()
	b.ReportAllocs()
	for b.Loop() {
		if o := feedback.Parse(&status, id); !o.Complete {
			b.Fatal("not complete")
		}
	}
}
