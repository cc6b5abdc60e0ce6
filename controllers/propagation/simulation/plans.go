package simulation

import (
	"encoding/json"

	"github.com/towline-io/towline/pkg/delivery"
)

// plan adds a plan to a digest: all writes, conditions and waits, without the trace.
func (d *digest) plan(app key, p *delivery.Plan) {
	told := *p
	told.Trace = nil
	text, err := json.Marshal(told)
	must(err)
	d.add(app.String(), string(text))
}
