package dependencies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// observeMore reads the needed facts.
func (r *Reconciler) observeMore(ctx context.Context, seen *observation, required dependency.FactSet) error {
	for _, each := range []struct {
		fact dependency.FactSet
		read func(context.Context, *observation) error
	}{
		{dependency.FactProject, r.observeProject},
		{dependency.FactRequested, r.observeRequested},
		{dependency.FactObjects, r.observeNamed},
		{dependency.FactOlder, r.observeOlder},
	} {
		if required&each.fact == 0 {
			continue
		}
		if err := each.read(ctx, seen); err != nil {
			return err
		}
		seen.Known |= each.fact
	}
	return nil
}

// observeRequested reads the hub's specs of the Applications whose works carry a request.
func (r *Reconciler) observeRequested(ctx context.Context, seen *observation) error {
	seen.Requested = nil
	for _, w := range seen.Works {
		if _, request := dependency.Uses(w, nil); !request {
			continue
		}
		for _, app := range index.OfWork(ctx, r.Client, client.ObjectKeyFromObject(w)) {
			seen.Requested = append(seen.Requested, seen.Read(app))
		}
	}
	return nil
}

// observeNamed reads the objects named by the Application. The cache does not have the objects.
func (r *Reconciler) observeNamed(ctx context.Context, seen *observation) error {
	seen.Named = map[dependency.Reference]dependency.Object{}
	for _, ref := range seen.Wanted() {
		var obj client.Object = &corev1.Secret{}
		if ref.Kind == dependency.ConfigMapKind {
			obj = &corev1.ConfigMap{}
		}
		key := types.NamespacedName{Namespace: seen.Users[0].App.Namespace, Name: ref.Name}
		switch err := r.Live.Get(ctx, key, obj); {
		case err == nil:
			seen.Named[ref] = obj
		case !hub.IsAbsent(err):
			return err
		}
	}
	return nil
}

// observeUnwatched reads the work past the cache. The cache does not show the work: the cache is behind, or the cluster
// has removed the label. Only Towline uses names of this form.
func (r *Reconciler) observeUnwatched(ctx context.Context, seen *observation) (err error) {
	if seen.Work, err = hub.Get(ctx, r.Live, seen.Key, &workv1.ManifestWork{}); err != nil || seen.Work == nil {
		return err
	}
	return seen.observeWorks(ctx)
}

// observeLive reads all facts for a destructive plan again, past the cache. It returns false for a deleted or recreated
// work. For an objects work, observeLive reads the Application too. For a credential, the works on the cluster are
// enough: a credential stays while a work carries an Application with the credential. An AppProject stays on the
// cluster.
func (r *Reconciler) observeLive(ctx context.Context, seen *observation) (same bool, err error) {
	before := seen.Work.UID
	seen.Live, seen.reader, seen.Known = true, r.Live, 0
	if seen.Work, err = hub.Get(ctx, r.Live, seen.Key, &workv1.ManifestWork{}); err != nil || seen.Work == nil || seen.Work.UID != before {
		return false, err
	}
	if err := seen.observeCluster(ctx); err != nil {
		return false, err
	}
	if seen.Kind() == dependency.Objects {
		return r.observeLiveObjects(ctx, seen)
	}
	if err := seen.observeWorks(ctx); err != nil || seen.Leads() {
		return true, err
	}
	switch seen.Kind() {
	case dependency.Certificate:
		seen.Certificates, err = r.trust.readLive(ctx, r.Live, dependency.CertificatesConfigMap)
	case dependency.HostKeys:
		seen.HostKeys, err = r.trust.readLive(ctx, r.Live, dependency.HostKeysConfigMap)
	default:
		err = r.observeLiveSecret(ctx, seen)
	}
	return true, err
}

// observeLiveObjects reads the Application behind the objects work, the Application's own work, and the AppProject. All
// works of the cluster are read only if released Applications may use the objects. Each Application has a separate
// objects work, and many may end at the same time.
func (r *Reconciler) observeLiveObjects(ctx context.Context, seen *observation) (same bool, err error) {
	own, known := dependency.OwnOf(seen.Key)
	if len(seen.Users) > 0 {
		u := &seen.Users[0]
		own, known = work.Key(u.App), true
		app, err := hub.Get(ctx, r.Live, client.ObjectKeyFromObject(u.App), &argocd.Application{})
		if err != nil || app != nil && app.UID != u.App.UID {
			return false, err
		}
		if u.App = app; app == nil {
			seen.Users = nil
		}
	}
	if known {
		w, err := hub.Get(ctx, r.Live, own, &workv1.ManifestWork{})
		if err != nil {
			return false, err
		}
		seen.OwnWorkExists = w != nil
		if len(seen.Users) > 0 {
			u := &seen.Users[0]
			sent := u.Sent()
			if u.Own = w; u.Sent() != sent {
				return false, nil // the cache is behind, and further unread facts depend on the work
			}
		}
	}
	if len(dependency.ReleasedTo(seen.Work)) > 0 {
		if err := seen.observeWorks(ctx); err != nil {
			return false, err
		}
	}
	if len(seen.Users) == 0 || !seen.Users[0].Sent() {
		return true, nil
	}
	return true, r.observeProject(ctx, seen)
}

// observeLiveSecret reads the metadata of the Secret, to check whether the Secret may be sent. Secret data are not
// read.
func (r *Reconciler) observeLiveSecret(ctx context.Context, seen *observation) error {
	live := &metav1.PartialObjectMetadataList{}
	live.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	ofRepositories := client.MatchingLabelsSelector{Selector: RepositorySecrets()}
	if err := r.Live.List(ctx, live, client.InNamespace(r.Options.ArgoCDNamespace), ofRepositories); err != nil {
		return err
	}
	before := seen.Secret
	seen.Secret, seen.SecretBehind = nil, false
	for i := range live.Items {
		if dependency.CredentialKey(seen.Key.Namespace, live.Items[i].Name) != seen.Key {
			continue
		}
		if seen.SecretBehind = before == nil; before != nil {
			now := before.DeepCopy()
			now.Annotations = live.Items[i].Annotations
			seen.Secret = now
		}
		r.missing.forget(seen.Key)
		return nil
	}
	seen.MissingSince = r.missing.note(seen.Key, seen.Now)
	return nil
}

// notCached reports whether the cache has no work with the key.
func notCached(ctx context.Context, cached client.Reader, key types.NamespacedName) (bool, error) {
	w, err := hub.Get(ctx, cached, key, &workv1.ManifestWork{})
	return w == nil && err == nil, err
}

// Released reports whether the dependencies of the Applications in a work stay on the cluster without the work,
// according to the work agent's reports. Propagation calls Released before it deletes the work of a released
// Application.
func (r *Reconciler) Released(ctx context.Context, w *workv1.ManifestWork) (bool, error) {
	known, err := r.credentials(ctx)
	if err != nil {
		return false, err
	}
	uses, _ := dependency.Uses(w, known)
	for _, use := range uses {
		for _, key := range use.Dependencies {
			c, err := hub.Get(ctx, r.Live, key, &workv1.ManifestWork{})
			if err != nil || c != nil && !dependency.StaysFor(c, use.Application) {
				return false, err
			}
		}
	}
	return true, nil
}
