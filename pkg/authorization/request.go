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

// Request is the request of an Application.
type Request struct {
	// Project is the name of the AppProject.
	Project string

	// Sources are all repositories in the Application. Each must be permitted, because a cluster's version of Argo CD
	// may use any of them. Sources has at least one entry, possibly empty.
	Sources []string

	// Manifests is true if an operation has its own manifests, instead of the manifests in the repositories.
	Manifests bool

	// Namespace is the destination namespace on the cluster. Resources with their own namespace go there, if the
	// AppProject on the cluster permits it.
	Namespace string

	// Elsewhere is the destination in the terms of the cluster's Argo CD. It is empty for the Application's own
	// cluster.
	Elsewhere argocd.Destination
}

// sources are the sources of a spec or of an operation. Only the presence and the JSON kinds matter here.
type sources struct {
	Source  *struct{}  `json:"source"`
	Sources []struct{} `json:"sources"`
}

// Read returns the request of an Application, from the spec and the requested operation. If a field has the wrong
// shape, Read returns an error with the name of the field.
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
	if len(operation.Sync.Sources) > 0 { // Argo CD's rollback of several sources also has an empty source, which Argo CD ignores
		found = slices.DeleteFunc(found, func(repo string) bool { return repo == "" })
	}
	out.Sources = append(out.Sources, found...)
	out.Manifests = len(operation.Sync.Manifests) > 0
	return out, nil
}

// ReadSpec returns the request of an Application's spec, without the operation.
func ReadSpec(app *argocd.Application) (Request, error) {
	out := readSpec(app.Spec.Raw)
	out.Elsewhere = elsewhere(app.DestinationThere())
	return out.Request, out.err
}

// ReadSent returns the request of an Application in a ManifestWork. The spec has the destination from the view of the
// cluster.
func ReadSent(carried *argocd.Application) (Request, error) {
	out, err := ReadSpec(carried)
	out.Elsewhere = elsewhere(carried.DestinationSaid())
	return out, err
}

// elsewhere returns the destination; empty for the Application's own cluster.
func elsewhere(to argocd.Destination) argocd.Destination {
	if to.Canonical() == argocd.InCluster {
		return argocd.Destination{}
	}
	return to
}

// spec is the request of a spec, or the error of an unreadable spec.
type spec struct {
	Request
	err error
}

// readSpec returns the request of a spec.
var readSpec = memo.Of(func(raw []byte) spec {
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
		Sources:   slices.Clip(found), // callers append to the slice
		Namespace: read.Destination.Namespace,
	}}
})

// decode parses JSON like the API server, with case-sensitive keys, and returns the addresses of repositories. Empty
// input gives an empty result.
func decode(raw []byte, into any) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := utiljson.Unmarshal(raw, into); err != nil {
		return nil, err
	}
	return repositories(raw)
}
