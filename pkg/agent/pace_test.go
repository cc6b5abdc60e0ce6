package agent

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ago moves the Application's last write into the past.
func (p *pace) ago(app types.NamespacedName, d time.Duration) {
	last := p.writes[app]
	last.at = last.at.Add(-d)
	p.writes[app] = last
}

// TestAReportThatIsDeletedAgainAndAgain: a report without a work costs the hub less and less.
func TestAReportThatIsDeletedAgainAndAgain(t *testing.T) {
	app := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	p := &pace{}
	expect := func(what, name string, low, high time.Duration) {
		t.Helper()
		if got := p.wait(app, name); got < low || got > high {
			t.Errorf("%s: waits %s, want %s to %s", what, got, low, high)
		}
	}
	p.lost(app, "w") // a report of an earlier process
	expect("the first", "w", 0, 0)
	if !p.isLost(app, "w") || p.isLost(app, "other") {
		t.Error("it is not known that it is gone")
	}
	if p.wrote(app, "w"); p.isLost(app, "w") {
		t.Error("it is written, and counts as gone")
	}
	expect("a change at once", "w", 1, Interval)
	p.ago(app, Interval)
	expect("a change", "w", 0, 0)
	p.lost(app, "w")
	expect("gone for the first time", "w", 0, 0)
	for _, again := range []time.Duration{firstAgain, 2 * firstAgain, 4 * firstAgain} {
		p.wrote(app, "w")
		p.ago(app, time.Minute) // the time until the hub deletes the report
		expect("a change after that", "w", 0, 0)
		p.ago(app, -time.Minute)
		p.lost(app, "w")
		expect("gone again", "w", again-time.Second, again)
		expect("another work's", "other", 1, Interval)
	}
	for range 10 {
		p.wrote(app, "w")
		p.lost(app, "w")
	}
	expect("gone for ever", "w", lastAgain-time.Second, lastAgain)
	p.ago(app, 3*lastAgain)
	p.lost(app, "w")
	p.wrote(app, "w")
	p.ago(app, Interval)
	p.lost(app, "w")
	expect("there for long in between", "w", firstAgain-time.Second, firstAgain)
	p.wrote(app, "other")
	p.ago(app, Interval)
	p.lost(app, "w")
	expect("the report of an earlier work", "other", 0, 0)
	if p.forget(app); len(p.writes) > 0 {
		t.Error("an Application that is gone is remembered")
	}
}
