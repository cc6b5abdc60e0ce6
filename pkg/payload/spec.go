package payload

import (
	"encoding/json"
	"fmt"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
	"github.com/towline-io/towline/pkg/source"
)

// specs caches the specs for the managed cluster, by the text of the hub's spec.
var specs = memo.Of(func(raw []byte) spec { return toDestination(raw, argocd.InCluster, "", "") })

// spec is a spec in JSON with the number of its fields, or the error from reading the spec.
type spec struct {
	json   []byte
	fields int
	err    error
}

// specThere returns the spec of an Application for the managed cluster.
func specThere(app *argocd.Application) spec {
	if to := app.DestinationThere(); to != argocd.InCluster || app.SourceAddress != "" {
		// Few Applications have another destination, or sources through the hub.
		return toDestination(app.Spec.Raw, to, app.SourceAddress, app.Project())
	}
	return specs(app.Spec.Raw)
}

// toDestination returns a normalized spec with another destination, and with automation in the form for every version
// of Argo CD. With a non-empty sources, the spec reads its repositories at that address, for the AppProject. All other
// fields, known or not, keep their bytes.
func toDestination(raw []byte, to argocd.Destination, sources, project string) spec {
	fields, err := object(raw)
	if err != nil {
		return spec{err: fmt.Errorf("spec: %w", err)}
	}
	destination, err := object(fields["destination"])
	if err != nil {
		return spec{err: fmt.Errorf("spec.destination: %w", err)}
	}
	setText(destination, "name", to.Name)
	setText(destination, "server", to.Server)
	fields["destination"] = jsonOf(destination)
	if sources != "" {
		if err := source.Through(sources, project, fields); err != nil {
			return spec{err: fmt.Errorf("spec.%w", err)}
		}
	}
	spellAutomation(fields)
	normalize(fields)
	out := jsonOf(fields)
	return spec{json: out, fields: fieldCount(out)}
}

// spellAutomation expresses automated syncs without syncPolicy.automated.enabled (Argo CD 3.1 and later). An Argo CD
// without the field reads any `automated` as yes, and its CRD refuses the whole Application. On the hub, the
// ApplicationSet controller sets the field to false for a RollingSync.
func spellAutomation(fields map[string]json.RawMessage) {
	policy, err := object(fields["syncPolicy"])
	if err != nil {
		return
	}
	automated, err := object(policy["automated"])
	if err != nil || automated["enabled"] == nil {
		return
	}
	if string(automated["enabled"]) == "false" {
		delete(policy, "automated")
	} else {
		delete(automated, "enabled")
		policy["automated"] = jsonOf(automated)
	}
	fields["syncPolicy"] = jsonOf(policy)
}
