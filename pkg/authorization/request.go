package authorization

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
)

// Request is what an Application asks for.
type Request struct {
	// Project is the name of its AppProject.
	Project string

	// Sources are the repositories that it names anywhere: each must be permitted, whichever of them a cluster's version
	// of Argo CD may take. There is at least one, which may be empty.
	Sources []string

	// Manifests tells that an operation brings what it deploys, in place of what is in the repositories.
	Manifests bool

	// Namespace is where on the cluster it deploys to; resources that say so go elsewhere, if the AppProject on the
	// cluster lets them.
	Namespace string

	// Elsewhere is the destination as the cluster's Argo CD knows it. It is empty for the cluster that the Application
	// arrives on.
	Elsewhere argocd.Destination
}

// sources are what a spec, or an operation that overrides it, deploys. Only their kinds matter here.
type sources struct {
	Source  *struct{}  `json:"source"`
	Sources []struct{} `json:"sources"`
}

// Read is what an Application asks for: its spec, and the operation that it requests. It returns an error that names
// the field when one is not of Argo CD's shape.
func Read(app *argocd.Application) (Request, error) {
	out, err := ReadSpec(app)
	if err != nil || app.Operation == nil {
		return out, err
	}
	var operation struct {
		Sync struct {
			sources
			Manifests []json.RawMessage `json:"manifests"`
		} `json:"sync"`
	}
	found, err := decode(app.Operation.Raw, &operation)
	if err != nil {
		return Request{}, fmt.Errorf("operation: %w", err)
	}
	if len(operation.Sync.Sources) > 0 { // Argo CD's rollback of several sources has an empty source too, and ignores it
		found = slices.DeleteFunc(found, func(repo string) bool { return repo == "" })
	}
	out.Sources = append(out.Sources, found...)
	out.Manifests = len(operation.Sync.Manifests) > 0
	return out, nil
}

// ReadSpec is what an Application's spec asks for, whatever it requests beside that.
func ReadSpec(app *argocd.Application) (Request, error) {
	out := specs.Get(app.Spec.Raw, readSpec)
	out.Elsewhere = elsewhere(app.DestinationThere())
	return out.Request, out.err
}

// ReadSent is what the Application in a ManifestWork asks for. Its spec has the destination as the cluster has it.
func ReadSent(carried *argocd.Application) (Request, error) {
	out, err := ReadSpec(carried)
	out.Elsewhere = elsewhere(carried.DestinationSaid())
	return out, err
}

// elsewhere is a destination, or an empty one for the cluster that an Application arrives on.
func elsewhere(to argocd.Destination) argocd.Destination {
	if to.Canonical() == argocd.InCluster {
		return argocd.Destination{}
	}
	return to
}

// specs are those that were read.
var specs memo.Texts[spec]

// spec is what a spec asks for, or why it cannot be read.
type spec struct {
	Request
	err error
}

func readSpec(raw []byte) spec {
	var read struct {
		sources
		Project     string `json:"project"`
		Destination struct {
			Namespace string `json:"namespace"`
		} `json:"destination"`
	}
	found, err := decode(raw, &read)
	if err != nil {
		return spec{err: fmt.Errorf("spec: %w", err)}
	}
	if len(found) == 0 {
		found = []string{""}
	}
	return spec{Request: Request{
		Project:   cmp.Or(read.Project, argocd.DefaultProject),
		Sources:   slices.Clip(found), // others append to it
		Namespace: read.Destination.Namespace,
	}}
}

// decode reads JSON as the API server does, where keys that differ in case are different keys, and returns the addresses
// of repositories in it. Nothing decodes to nothing.
func decode(raw []byte, into any) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := utiljson.Unmarshal(raw, into); err != nil {
		return nil, err
	}
	return repositories(raw)
}
