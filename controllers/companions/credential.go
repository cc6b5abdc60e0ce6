package companions

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/companion"
)

// credential tells what becomes of the work that carries a repository's credential. It travels as long as an Application
// that may be on the cluster, and is there, uses the repository. It stays as it is, and does not follow a rotation, as
// long as only something else that was sent there does.
func (r *Reconciler) credential(ctx context.Context, key types.NamespacedName) (want, error) {
	secrets, err := r.secrets(ctx)
	if err != nil {
		return keep, err
	}
	i := slices.IndexFunc(secrets, func(s corev1.Secret) bool {
		return companion.CredentialKey(key.Namespace, s.Name) == key && companion.Propagates(s.Annotations)
	})
	if i < 0 {
		return withdrawn, nil
	}
	secret := &secrets[i]
	known, err := r.credentials(ctx)
	if err != nil {
		return keep, err
	}
	for _, app := range index.Applications(ctx, r, index.ByCluster, key.Namespace) {
		needs, err := r.needs(ctx, &app, known, secret.Name)
		if err == nil && needs {
			needs, err = r.sent(ctx, &app)
		}
		if err != nil {
			return keep, err
		}
		if needs {
			return r.renderCredential(ctx, key.Namespace, secret)
		}
	}
	specs, all, err := r.carried(ctx, key.Namespace)
	used := slices.ContainsFunc(specs, func(s companion.Spec) bool { return known.Needs(s, secret.Name) })
	if err != nil || used || !all {
		return keep, err
	}
	return end, nil
}

// needs tells whether an Application needs a credential: for its spec, or for an operation that it requests and may have.
func (r *Reconciler) needs(ctx context.Context, app *argocd.Application, known companion.Credentials, secret string) (bool, error) {
	if !known.Needs(companion.ReadSpec(app), secret) {
		return false, nil
	}
	idle := *app
	idle.Operation = nil
	if known.Needs(companion.ReadSpec(&idle), secret) {
		return true, nil
	}
	return r.permits(ctx, app, authorization.Read)
}

func (r *Reconciler) renderCredential(ctx context.Context, cluster string, s *corev1.Secret) (want, error) {
	to, err := r.target(ctx, cluster)
	if err != nil {
		return keep, err
	}
	if r.shared(to) {
		return end, nil
	}
	w, err := companion.RenderCredential(s, cluster, to.namespace)
	return fitting(want{work: w}, err)
}

// scopes keeps what the hub's repository Secrets are for, until one of them changes.
type scopes struct {
	mu    sync.Mutex
	valid bool
	known companion.Credentials
}

// credentials are what the hub has for repositories.
func (r *Reconciler) credentials(ctx context.Context) (companion.Credentials, error) {
	r.scopes.mu.Lock()
	defer r.scopes.mu.Unlock()
	if !r.scopes.valid {
		secrets, err := r.secrets(ctx)
		if err != nil {
			return nil, err
		}
		r.scopes.known, r.scopes.valid = companion.ReadCredentials(secrets), true
	}
	return r.scopes.known, nil
}

// forget is called after a change has got into the cache.
func (s *scopes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = false
}
