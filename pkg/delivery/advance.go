package delivery

import (
	"slices"

	"github.com/towline-io/towline/pkg/apis"
)

// firstBlock runs the checks of an intent in order, and returns the first block; nil if all checks pass. If a check
// needs more facts, the block is empty, and the plan has required facts.
func (d *decision) firstBlock(i Intent) *block {
	for _, g := range checks {
		if !slices.Contains(g.Holds, i) {
			continue
		}
		b := g.check(&d.view)
		if d.require(b.required) {
			return &block{}
		}
		if d.plan.trace(g, nil, b.Message); b.Message == "" {
			continue
		}
		if g.Type == paused && d.App.Refresh() != "" && !d.App.SpecChanged() { // no user is to wait for an answer during a pause
			d.dropRefresh(untilDrop(d.App, d.Now), "the requested refresh was dropped: "+pausedBy(d.pausedAt()))
		}
		return b.at(g)
	}
	return nil
}

// advance takes the first unfinished step of a list. The result is the block of the step; nil if all steps are done.
// If the step needs more facts, the block is empty, and the plan has required facts. The subject is nil for the steps of an
// Application.
func (d *decision) advance(list []*Gate, s *subject) *block {
	for _, g := range list {
		b := g.step(&d.view, s)
		if d.require(b.required) {
			return &block{}
		}
		if d.plan.trace(g, s, b.Message); b.Message == "" {
			continue
		}
		b = d.watched(g, s, b)
		for _, c := range b.changes {
			d.plan.addStep(Step{Write: c})
		}
		if b.withdraw != nil {
			d.plan.withdrawOperation(b.withdraw)
		}
		if b.finalize {
			d.plan.dropFinalizers(d.App)
		}
		d.plan.Events = append(d.plan.Events, b.events...)
		return b.at(g)
	}
	return nil
}

// require adds facts to the plan's Required, and reports whether the plan needs any facts.
func (d *decision) require(n FactSet) bool {
	d.plan.Required |= n &^ d.Known
	return d.plan.Required != 0
}

// watched extends a wait for a work, so that the end of the wait is noticed. The cache selects works by the pull label,
// and each write adds a missing label. During a pause, the result has no write and a shorter wait.
func (v *view) watched(g *Gate, s *subject, b block) block {
	switch {
	case s == nil || g.Timed || v.deletionRequested(s.ManifestWork) || s.Labels[apis.LabelPull] != "":
		return b
	case g.Type == paused:
		b.Wait = b.Wait.and(Wait{After: slowRecheck})
		return b
	}
	return b.changing(s.ManifestWork, s.DeepCopy())
}
