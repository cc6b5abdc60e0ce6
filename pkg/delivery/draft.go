package delivery

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// addStep adds a write of a work. A plan writes a work only once; a deletion replaces all other writes. A changed
// work gets a missing pull label, so that the cache finds the work.
func (p *Plan) addStep(s Step) {
	if s.Verb == work.VerbUpdate && s.Work.Labels[apis.LabelPull] == "" {
		metav1.SetMetaDataLabel(&s.Work.ObjectMeta, apis.LabelPull, "true")
	}
	i := p.stepOf(s.Was)
	switch {
	case i < 0:
		p.Steps = append(p.Steps, s)
	case s.Verb == work.VerbDelete && p.Steps[i].Verb != work.VerbDelete:
		p.Steps[i] = s
	}
}

// stepOf returns the index of the write of a work; -1 for none, and for a nil work.
func (p *Plan) stepOf(w *workv1.ManifestWork) int {
	return slices.IndexFunc(p.Steps, func(s Step) bool { return w != nil && s.Was != nil && s.Was.UID == w.UID })
}

// planned returns a work in its form after the plan so far.
func (p *Plan) planned(w *workv1.ManifestWork) *workv1.ManifestWork {
	if i := p.stepOf(w); i >= 0 && p.Steps[i].Verb == work.VerbUpdate {
		return p.Steps[i].Work
	}
	return w
}

// rewrite changes the planned form of a work, if the function form changes the work.
func (p *Plan) rewrite(w *workv1.ManifestWork, form func(*workv1.ManifestWork) (*workv1.ManifestWork, bool)) {
	if updated, changed := form(p.planned(w)); changed {
		p.replan(w, updated)
	}
}

// replan changes the planned form of a work.
func (p *Plan) replan(w, updated *workv1.ManifestWork) {
	if i := p.stepOf(w); i >= 0 {
		p.Steps[i].Work = updated
		return
	}
	p.addStep(Step{Write: work.Change(w, updated)})
}

// hub returns the patch of the hub's Application.
func (p *Plan) hub() *argocd.Patch {
	if p.Hub == nil {
		p.Hub = &argocd.Patch{Exact: true}
	}
	return p.Hub
}

// addWait sets the latest time of the next decision, unless the plan has an earlier time.
func (p *Plan) addWait(w Wait) { p.Wait = p.Wait.and(w) }

// addCondition shows a block and waits for its end; b may be nil. The message of a second condition of the same type
// is appended to the first message. If the second message contains the first, the second message replaces the first.
// The reason of the second condition replaces the first reason.
func (p *Plan) addCondition(b *block) {
	if b == nil {
		return
	}
	p.Wait = p.Wait.and(b.Wait)
	if b.Type == "" {
		return
	}
	i := slices.IndexFunc(p.Conditions, func(c Condition) bool { return c.Type == b.Type })
	if i < 0 {
		p.Conditions = append(p.Conditions, b.Condition)
		return
	}
	c := &p.Conditions[i]
	if c.Reason = b.Reason; strings.Contains(b.Message, c.Message) {
		c.Message = b.Message
	} else {
		c.Message += "; " + b.Message
	}
}

// trace stores the answer of a gate. The subject is nil for a gate of the Application.
func (p *Plan) trace(g *Gate, s *subject, message string) {
	entry := gate.TraceEntry{Gate: g.Name, Words: message}
	if s != nil {
		entry.Work = s.Namespace + "/" + s.Name
	}
	p.Trace = append(p.Trace, entry)
}
