package work

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
)

// specs are the specs of Applications for the cluster that they arrive on.
var specs memo.Texts[spec]

// spec is a spec in JSON with the number of its leaves, or the error by which it cannot be read.
type spec struct {
	json   []byte
	leaves int
	err    error
}

// specThere is the spec of an Application as it is to be on the cluster.
func specThere(app *argocd.Application) spec {
	if to := app.DestinationThere(); to != argocd.InCluster {
		return toDestination(app.Spec.Raw, to) // few Applications have another destination
	}
	return specs.Get(app.Spec.Raw, func(raw []byte) spec { return toDestination(raw, argocd.InCluster) })
}

// toDestination is a spec with another destination, with automation as every Argo CD reads it, and normalized. All other
// fields, known or not, keep their bytes.
func toDestination(raw []byte, to argocd.Destination) spec {
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

// ignoredDestination tells whether a controller sent an Application and ignored the annotations for the destination. Then the
// Application on the cluster still has the annotations.
func ignoredDestination(held *argocd.Application) bool {
	_, name := held.Annotations[apis.AnnotationDestinationName]
	_, server := held.Annotations[apis.AnnotationDestinationServer]
	return name || server
}
