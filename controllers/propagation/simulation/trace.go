package simulation

import (
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/delivery"
)

// Trace runs steps like Replay. It also returns a line for each step, and an indented line for each plan of Towline in
// the step: the Application, the intent, the writes of works, and the reasons of conditions. The plans after the last
// step belong to the rest of the world.
func Trace(o Options, steps []Step) (*World, string) {
	var out strings.Builder
	o.planned = func(app key, p *delivery.Plan) { out.WriteString("    " + lineOf(app, p) + "\n") }
	w := New(o)
	for i := range steps {
		s := steps[i]
		out.WriteString(s.String() + "\n")
		w.do(&s)
	}
	out.WriteString("rest\n")
	w.rest()
	return w, out.String()
}

// lineOf describes a plan in one line.
func lineOf(app key, p *delivery.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", app, p.Intent)
	for i := range p.Steps {
		s := &p.Steps[i]
		fmt.Fprintf(&b, ", %s %s/%s", s.Verb, s.Target().Namespace, s.Target().Name)
	}
	for _, c := range p.Conditions {
		fmt.Fprintf(&b, ", %s %s", c.Type, c.Reason)
	}
	return b.String()
}
