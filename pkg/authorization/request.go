package authorization

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Request is what an Application asks for.
type Request struct {
	// Project is the name of its AppProject.
	Project string

	// Sources are the repositories that it names: each must be permitted, whichever of them a cluster's version of
	// Argo CD may take. There is at least one, which may be empty.
	Sources []string

	// Namespace is where on the cluster it deploys to; resources that say so go elsewhere, if the AppProject on the
	// cluster lets them.
	Namespace string
}

type source struct {
	RepoURL string `json:"repoURL"`
}

// sources are where a spec, or an operation that overrides it, says where to deploy from.
type sources struct {
	Source         *source  `json:"source"`
	Sources        []source `json:"sources"`
	SourceHydrator *struct {
		DrySource source `json:"drySource"`
	} `json:"sourceHydrator"`
}

func (s *sources) urls() []string {
	var out []string
	if s.Source != nil {
		out = append(out, s.Source.RepoURL)
	}
	for _, each := range s.Sources {
		out = append(out, each.RepoURL)
	}
	if s.SourceHydrator != nil {
		out = append(out, s.SourceHydrator.DrySource.RepoURL)
	}
	return out
}

// Read is what an Application asks for: its spec, and the operation that it requests. It returns an error that names
// the field when one is not of Argo CD's shape.
func Read(app *argocd.Application) (Request, error) {
	out, err := ReadSpec(app)
	if err != nil || app.Operation == nil {
		return out, err
	}
	var operation struct {
		Sync sources `json:"sync"`
	}
	if err := decode(app.Operation.Raw, &operation); err != nil {
		return Request{}, fmt.Errorf("operation: %w", err)
	}
	out.Sources = append(out.Sources, operation.Sync.urls()...)
	return out, nil
}

// ReadSpec is what an Application's spec asks for, whatever it requests beside that.
func ReadSpec(app *argocd.Application) (Request, error) {
	var spec struct {
		sources
		Project     string `json:"project"`
		Destination struct {
			Namespace string `json:"namespace"`
		} `json:"destination"`
	}
	if err := decode(app.Spec.Raw, &spec); err != nil {
		return Request{}, fmt.Errorf("spec: %w", err)
	}
	out := Request{
		Project:   cmp.Or(spec.Project, argocd.DefaultProject),
		Sources:   spec.urls(),
		Namespace: spec.Destination.Namespace,
	}
	if len(out.Sources) == 0 {
		out.Sources = []string{""}
	}
	return out, nil
}

// decode reads JSON as the API server does: keys that differ in case are different keys. Nothing decodes to nothing.
func decode(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}
