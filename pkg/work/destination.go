package work

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
	"github.com/towline-io/towline/pkg/source"
)

// specs caches the specs for the managed cluster, by the text of the hub's spec.
var specs = memo.Of(func(raw []byte) spec { return toDestination(raw, argocd.InCluster, "", "") })

// spec is a spec in JSON with the number of its leaves, or the error from reading the spec.
type spec struct {
	json   []byte
	leaves int
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
	return spec{json: out, leaves: leaves(out)}
}

// setText sets a field of a JSON object, or removes the field for an empty text.
func setText(fields map[string]json.RawMessage, key, text string) {
	delete(fields, key)
	if text != "" {
		fields[key] = quoted(text)
	}
}

// Redirected returns the destination of the Application in a work, if the work is not from this version of Towline and app
// now has another destination.
func Redirected(w *workv1.ManifestWork, app *argocd.Application) (was argocd.Destination, redirected bool) {
	held, ok := Carried(w)
	if !ok || !ByOlder(w) && !ignoredDestination(held) {
		return argocd.Destination{}, false
	}
	was = held.DestinationSaid()
	return was, was != argocd.Destination{} && was.Canonical() != app.DestinationThere().Canonical()
}

// ignoredDestination reports whether the controller that sent the Application ignored the annotations for the
// destination. Then the Application on the cluster still has the annotations.
func ignoredDestination(held *argocd.Application) bool {
	_, name := held.Annotations[apis.AnnotationDestinationName]
	_, server := held.Annotations[apis.AnnotationDestinationServer]
	return name || server
}
