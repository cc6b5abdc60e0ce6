package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/work"
)

// BenchmarkSame measures the reconcile of an Application with an up-to-date status, the most frequent case.
func BenchmarkSame(b *testing.B) {
	app := fixture.Application("guestbook").Obj()
	report := fixture.Feedback(work.Identifier(app)).Healthy("53e28ff20cc530b9ada2173fbbd64d48338583ba").Obj()
	seen := feedback.Parse(&report, work.Identifier(app))
	facts := &observed.Facts{Source: "feedback", Status: seen.Status, Complete: true}
	app.Status = merge(&app.Status, facts, nil, metav1.Now())
	b.ReportAllocs()
	for b.Loop() {
		status := merge(&app.Status, facts, nil, metav1.Now())
		if data, err := diff(app, status); err != nil || data.Data(app) != nil {
			b.Fatal("a change", err)
		}
	}
}
