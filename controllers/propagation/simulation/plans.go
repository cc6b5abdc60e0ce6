package simulation

import (
	"encoding/json"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
)

// plan adds a plan to a digest: all writes, conditions and waits, without the trace.
func (d *digest) plan(app key, p *delivery.Plan) {
	told := *p
	told.Trace = nil
	if p.Hub != nil {
		hub := *p.Hub
		hub.Conditions = slices.Clone(hub.Conditions)
		for i := range hub.Conditions {
			// The status controller owns these conditions, and reads the clock of the machine.
			if c := &hub.Conditions[i]; !delivery.Shown(c.Type) && c.Type != apis.ConditionRefreshWarning {
				c.LastTransitionTime = nil
			}
		}
		told.Hub = &hub
	}
	text, err := json.Marshal(told)
	must(err)
	d.add(app.String(), string(text))
}
