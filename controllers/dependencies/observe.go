package dependencies

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// observation has the observed facts about a work, and the reader. The objects belong to the cache: do not change them.
type observation struct {
	dependency.Facts

	// reader reads from the cache or past the cache.
	reader client.Reader

	// cluster is the ManagedCluster; nil if the hub has none.
	cluster *clusterv1.ManagedCluster
}

// observe reads the facts for most decisions about a work. All facts come from the cache.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (seen *observation, err error) {
	seen = &observation{reader: r.Client}
	seen.Now, seen.Key = time.Now(), key
	if seen.Work, err = hub.Get(ctx, r.Client, key, &workv1.ManifestWork{}); err != nil {
		return nil, err
	}
	if err := seen.observeCluster(ctx); err != nil {
		return nil, err
	}
	if seen.TrackingLabel, err = r.Tracking.LabelKey(ctx); err != nil {
		return nil, err
	}
	if seen.Credentials, err = r.credentials(ctx); err != nil {
		return nil, err
	}
	if seen.Work == nil {
		r.notOlder.forget(key)
	} else if err := seen.observeWorks(ctx); err != nil {
		return nil, err
	}
	switch seen.Kind() {
	case dependency.Project:
		if err := r.trust.observe(ctx, seen); err != nil {
			return nil, err
		}
		return seen, r.observeUsers(ctx, seen, index.ApplicationsOfProjectWork(ctx, r.Client, key))
	case dependency.Credential, dependency.Certificate, dependency.HostKeys:
		return seen, r.observeCredential(ctx, seen)
	case dependency.Namespace:
		return seen, r.observeUsers(ctx, seen, index.Applications(ctx, r.Client, index.ByCluster, key.Namespace))
	case dependency.Objects:
		return seen, r.observeObjects(ctx, seen)
	}
	return seen, nil
}

// observeCluster reads the ManagedCluster, and the namespace of the cluster.
func (seen *observation) observeCluster(ctx context.Context) (err error) {
	seen.cluster, err = hub.Get(ctx, seen.reader, types.NamespacedName{Name: seen.Key.Namespace}, &clusterv1.ManagedCluster{})
	if err != nil {
		return err
	}
	namespace, err := settings.ReadCluster(ctx, seen.reader, seen.Key.Namespace)
	if err != nil {
		return err
	}
	seen.Cluster, seen.ClusterArgoCD = managedcluster.Of(seen.cluster, namespace), ""
	if seen.cluster != nil {
		seen.ClusterArgoCD = seen.cluster.Annotations[apis.AnnotationArgoCDNamespace]
	} else { // the name local-cluster means the hub, whose original objects must stay
		seen.Cluster.Hub = authorization.IsHub(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: seen.Key.Namespace}})
	}
	return nil
}

// observeWorks reads all works of Towline on the cluster.
func (seen *observation) observeWorks(ctx context.Context) error {
	list := &workv1.ManifestWorkList{}
	err := seen.reader.List(ctx, list, client.InNamespace(seen.Key.Namespace), client.HasLabels{apis.LabelPull}, client.UnsafeDisableDeepCopy)
	seen.Works = make([]*workv1.ManifestWork, len(list.Items))
	for i := range list.Items {
		seen.Works[i] = &list.Items[i]
	}
	return err
}

// observeCredential reads the Secret or the ConfigMaps behind the work, and the users: Applications on the cluster.
func (r *Reconciler) observeCredential(ctx context.Context, seen *observation) (err error) {
	if seen.Secrets, err = r.secrets(ctx); err != nil {
		return err
	}
	if err := r.trust.observe(ctx, seen); err != nil {
		return err
	}
	seen.Secret = dependency.SecretOf(seen.Key, seen.Secrets)
	if !seen.Absent() || seen.Work == nil {
		r.missing.forget(seen.Key)
	} else {
		seen.MissingSince = r.missing.note(seen.Key, seen.Now)
	}
	return r.observeUsers(ctx, seen, index.Applications(ctx, r.Client, index.ByCluster, seen.Key.Namespace))
}

// observeUsers reads the Applications that the dependency concerns, up to the first Application with a need for the
// dependency. An AppProject must also permit further destination clusters of Applications, and the namespaces of
// Applications on the cluster.
func (r *Reconciler) observeUsers(ctx context.Context, seen *observation, apps []*argocd.Application) error {
	found := false
	for _, app := range apps {
		if found && !seen.Widens(app) || !dependency.DeliveryRequested(app) || !seen.Concerns(app) {
			continue
		}
		u, err := r.observeUser(ctx, seen, app)
		if err != nil {
			return err
		}
		seen.Users = append(seen.Users, u)
		found = found || seen.Suffices(&u)
		if found && seen.Kind() != dependency.Project {
			return nil
		}
	}
	return nil
}

// observeUser reads whether an Application has the right to the cluster, and reads the Application's own work.
func (r *Reconciler) observeUser(ctx context.Context, seen *observation, app *argocd.Application) (u dependency.User, err error) {
	u.App = app
	if u.Paused, err = r.Pauses.OnHub(ctx, app); err != nil || !dependency.DeliveryRequested(app) {
		return u, err
	}
	if err = seen.judge(ctx, r.Grants, &u); err != nil || !u.Permitted || seen.Leads() {
		return u, err
	}
	u.Own, err = hub.Get(ctx, r.Client, work.Key(app), &workv1.ManifestWork{})
	return u, err
}

// judge reads whether an Application has the right to the cluster, with the spec and with the requested operation.
func (seen *observation) judge(ctx context.Context, checker *grants.Checker, u *dependency.User) error {
	request, err := authorization.ReadSpec(u.App)
	if err != nil || seen.cluster == nil {
		return nil //nolint:nilerr // propagation says so on the Application
	}
	rights, err := checker.Rights(ctx, u.App, request.Project, seen.cluster, "")
	if err != nil {
		return err
	}
	u.Permitted = rights.Refusal(request) == nil
	if asked, err := authorization.Read(u.App); err == nil && u.App.Operation != nil { // an unreadable operation is not sent
		u.OperationPermitted = rights.Refusal(asked) == nil
	}
	return nil
}

// observeObjects reads the Application behind the objects work, and the state of the remaining dependencies.
func (r *Reconciler) observeObjects(ctx context.Context, seen *observation) (err error) {
	seen.OwnWorkExists = len(index.WorksBesideObjects(ctx, r.Client, seen.Key)) > 0
	apps := index.ApplicationsOfObjectsWork(ctx, r.Client, seen.Key)
	if len(apps) == 0 {
		return nil
	}
	u, err := r.observeUser(ctx, seen, apps[0])
	if err != nil {
		return err
	}
	if seen.Users = []dependency.User{u}; !u.Sent() {
		return nil
	}
	if err := r.observeProject(ctx, seen); err != nil {
		return err
	}
	if seen.Secrets, err = r.secrets(ctx); err != nil {
		return err
	}
	if err := r.trust.observe(ctx, seen); err != nil {
		return err
	}
	for _, key := range seen.Needed() {
		w, err := hub.Get(ctx, r.Client, key, &workv1.ManifestWork{})
		if err != nil {
			return err
		}
		if w != nil {
			seen.Dependencies = append(seen.Dependencies, w)
		}
	}
	seen.Refresh = r.refreshes.last(seen.Key)
	return nil
}

// observeProject reads the AppProject. For objects, observeProject also reads the ServiceAccount of the Application's
// own work: named objects must not get past the rights of the ServiceAccount.
func (r *Reconciler) observeProject(ctx context.Context, seen *observation) (err error) {
	key := types.NamespacedName{Namespace: r.Options.ArgoCDNamespace, Name: seen.ProjectName()}
	if seen.Project, err = hub.Get(ctx, seen.reader, key, &argocd.AppProject{}); err != nil {
		return err
	}
	executor, invalid := authorization.ExecutorOf(seen.Project, r.Executor)
	seen.Executor, seen.ExecutorInvalid = executor, invalid != nil
	return nil
}

// secrets returns the repository Secrets of the hub's Argo CD. The objects belong to the cache.
func (r *Reconciler) secrets(ctx context.Context) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := r.List(ctx, list, client.InNamespace(r.Options.ArgoCDNamespace), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// credentials returns the scopes of the hub's credentials, certificate authorities and host keys for repositories.
func (r *Reconciler) credentials(ctx context.Context) (dependency.Credentials, error) {
	return r.scopes.get(func() (dependency.Credentials, error) {
		certificates, err := r.trust.read(ctx, dependency.CertificatesConfigMap)
		if err != nil {
			return nil, err
		}
		hostKeys, err := r.trust.read(ctx, dependency.HostKeysConfigMap)
		if err != nil {
			return nil, err
		}
		all, err := r.secrets(ctx)
		return slices.Concat(dependency.ReadCredentials(all), dependency.ReadCertificates(certificates), dependency.ReadHostKeys(hostKeys)), err
	})
}
