package dependencies

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
)

// credential tells what becomes of the work that carries a repository's credential. It travels as long as an Application
// that may be on the cluster, and is there, uses the repository. It stays as it is, and does not follow a rotation, as
// long as only something else that was sent there does.
func (r *Reconciler) credential(ctx context.Context, key types.NamespacedName, existing *workv1.ManifestWork) (want, error) {
	secrets, err := r.secrets(ctx)
	if err != nil {
		return keep, err
	}
	i := slices.IndexFunc(secrets, func(s corev1.Secret) bool { return isOf(key, s.Name) })
	switch {
	case i < 0 && existing == nil:
		return keep, nil
	case i < 0:
		return r.lost(ctx, key)
	}
	r.missing.forget(key)
	secret := &secrets[i]
	if !dependency.Propagates(secret.Annotations) {
		return withdrawn, nil
	}
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
	used := slices.ContainsFunc(specs, func(s dependency.Spec) bool { return known.Needs(s, secret.Name) })
	if err != nil || used || !all {
		return keep, err
	}
	return end, nil
}

// isOf tells whether the work of that key carries the Secret of that name.
func isOf(key types.NamespacedName, secret string) bool {
	return dependency.CredentialKey(key.Namespace, secret) == key
}

// lost tells what becomes of the work of a credential whose Secret the hub does not have. It stays as it is for a while,
// and goes when the API server says that there is none.
func (r *Reconciler) lost(ctx context.Context, key types.NamespacedName) (want, error) {
	if left := r.missing.left(key, cmp.Or(r.Grace, DefaultGrace), time.Now()); left > 0 {
		return want{after: left}, nil
	}
	live := &metav1.PartialObjectMetadataList{}
	live.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	ofRepositories := client.MatchingLabelsSelector{Selector: RepositorySecrets()}
	if err := r.Live.List(ctx, live, client.InNamespace(r.ArgoCDNamespace), ofRepositories); err != nil {
		return keep, err
	}
	if slices.ContainsFunc(live.Items, func(s metav1.PartialObjectMetadata) bool { return isOf(key, s.Name) }) {
		r.missing.forget(key)
		return want{after: retry.Conflict}, nil // the cache is behind
	}
	return withdrawn, nil
}

// RepositorySecrets selects the Secrets of repositories, and of their templates, among those of an Argo CD.
func RepositorySecrets() labels.Selector {
	of, err := labels.NewRequirement(apis.LabelSecretType, selection.In, []string{apis.SecretTypeRepository, apis.SecretTypeRepoCreds})
	if err != nil {
		panic(err) // all of it is constant
	}
	return labels.NewSelector().Add(*of)
}

// missing remembers since when the Secrets of works have been missing. After a restart that begins anew.
type missing struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// left is how long a Secret may still be missing.
func (m *missing) left(key types.NamespacedName, grace time.Duration, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since == nil {
		m.since = map[types.NamespacedName]time.Time{}
	}
	if _, known := m.since[key]; !known {
		m.since[key] = now
	}
	return grace - now.Sub(m.since[key])
}

// forget drops the work of a Secret that is there, or a work that is not.
func (m *missing) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, key)
}

// needs tells whether an Application needs a credential: for its spec, or for an operation that it requests and may have.
func (r *Reconciler) needs(ctx context.Context, app *argocd.Application, known dependency.Credentials, secret string) (bool, error) {
	if !known.Needs(dependency.ReadSpec(app), secret) {
		return false, nil
	}
	idle := *app
	idle.Operation = nil
	if known.Needs(dependency.ReadSpec(&idle), secret) {
		return true, nil
	}
	return r.permits(ctx, app, authorization.Read)
}

func (r *Reconciler) renderCredential(ctx context.Context, cluster string, s *corev1.Secret) (want, error) {
	to, err := r.target(ctx, cluster)
	if err != nil || !to.known {
		return keep, err
	}
	if r.shared(to) {
		return end, nil
	}
	w, err := dependency.RenderCredential(s, cluster, to.namespace)
	return fitting(want{work: w}, err)
}

// scopes keeps what the hub's repository Secrets are for, until one of them changes.
type scopes struct {
	mu    sync.Mutex
	valid bool
	known dependency.Credentials
}

// credentials are what the hub has for repositories.
func (r *Reconciler) credentials(ctx context.Context) (dependency.Credentials, error) {
	r.scopes.mu.Lock()
	defer r.scopes.mu.Unlock()
	if !r.scopes.valid {
		secrets, err := r.secrets(ctx)
		if err != nil {
			return nil, err
		}
		r.scopes.known, r.scopes.valid = dependency.ReadCredentials(secrets), true
	}
	return r.scopes.known, nil
}

// forget is called after a change has got into the cache.
func (s *scopes) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.valid = false
}
