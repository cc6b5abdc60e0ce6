package simulation

import (
	"encoding/json"

	"github.com/towline-io/towline/pkg/delivery"
)

// plan adds a plan to a digest: everything that is written, shown and waited for, without the trace.
func (d *digest) plan(app key, p *delivery.Plan) {
	untraced := *p
	untraced.Trace = nil
	text, err := json.Marshal(untraced)
	must(err)
	d.add(app.String(), string(text))
}
