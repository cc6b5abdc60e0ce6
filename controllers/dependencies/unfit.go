package dependencies

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// doubtful is how many bytes an AppProject or a Secret has that may not fit into a ManifestWork. Smaller ones do.
const doubtful = work.MaxPayload / 4

func largeProject(p *argocd.AppProject) bool { return p != nil && len(p.Spec.Raw) > doubtful }

func largeSecret(s *corev1.Secret) bool {
	size := 0
	for _, value := range s.Data {
		size += len(value)
	}
	return size > doubtful
}

// unfit are the AppProject and the credentials of an Application that cannot travel, because they are too large.
func (r *Reconciler) unfit(ctx context.Context, app *argocd.Application) ([]problem, error) {
	var out []problem
	p, err := r.Grants.Project(ctx, app.Project())
	if err != nil {
		return nil, err
	}
	if largeProject(p) {
		want, err := r.renderProject(ctx, app.Cluster(), p.Name)
		if err != nil {
			return nil, err
		}
		if want.unfit != nil {
			out = append(out, about(p, problemf(apis.ReasonDependencyInvalid,
				"AppProject %s cannot travel: %s: make it smaller, or split it", p.Name, want.unfit)))
		}
	}
	secrets, err := r.secrets(ctx)
	if err != nil {
		return nil, err
	}
	needed, err := r.dependenciesOf(ctx, app)
	if err != nil {
		return nil, err
	}
	for i := range secrets {
		s := &secrets[i]
		if !largeSecret(s) || !dependency.Propagates(s.Annotations) || !slices.Contains(needed, dependency.CredentialKey(app.Cluster(), s.Name)) {
			continue
		}
		want, err := r.renderCredential(ctx, app.Cluster(), s)
		if err != nil {
			return nil, err
		}
		if want.unfit != nil {
			out = append(out, about(s, problemf(apis.ReasonDependencyInvalid, "Secret %s cannot travel: %s: make it smaller", s.Name, want.unfit)))
		}
	}
	return out, nil
}

// fitting is what becomes of a work that was rendered so. What does not fit is said on the Applications that need it, and
// what is on the cluster stays as it is.
func fitting(w want, err error) (want, error) {
	if large, ok := errors.AsType[*dependency.TooLargeError](err); ok {
		return want{unfit: large}, nil
	}
	return w, err
}

// origin is what a dependency is made from: the AppProject or the Secret; nil for objects, of which there are many.
func (r *Reconciler) origin(ctx context.Context, key types.NamespacedName, app *argocd.Application) (client.Object, error) {
	switch kind, _ := dependency.KindOf(key.Name); kind {
	case dependency.Project:
		p, err := r.Grants.Project(ctx, app.Project())
		if err != nil || p == nil {
			return nil, err
		}
		return p, nil
	case dependency.Credential:
		secrets, err := r.secrets(ctx)
		if err != nil {
			return nil, err
		}
		for i := range secrets {
			if dependency.CredentialKey(key.Namespace, secrets[i].Name) == key {
				return &secrets[i], nil
			}
		}
	case dependency.Objects:
	}
	return nil, nil
}
