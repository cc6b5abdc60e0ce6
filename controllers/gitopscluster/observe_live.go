package gitopscluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// page is the number of Applications in one page of a list.
const page = 500

// observeLive reads all facts for a destructive plan again, past the cache. It returns false if the GitOpsCluster or
// the consent has changed. Secrets are not read again, because each write is bound to the version of the read Secret.
func (r *Reconciler) observeLive(ctx context.Context, seen *observation, plan *clusterimport.Plan) (same bool, err error) {
	before, allowed := seen.GitOpsCluster, seen.Allowed()
	g, err := hub.Get(ctx, r.Live, seen.key, &v1beta1.GitOpsCluster{})
	if err != nil || g == nil || !clusterimport.SameGitOpsCluster(before, g) {
		return false, err
	}
	seen.Live, seen.reader, seen.Users = true, r.Live, nil
	if err := r.observeOlder(ctx, seen); err != nil {
		return false, err
	}
	if err := seen.observeChoice(ctx); err != nil || seen.Allowed() != allowed {
		return false, err
	}
	if err := seen.observeOthers(ctx); err != nil {
		return false, err
	}
	if err := r.observeChosen(ctx, seen); err != nil {
		return false, err
	}
	all := &v1beta1.GitOpsClusterList{}
	if err := r.Live.List(ctx, all); err != nil {
		return false, err
	}
	for namespace, argo := range seen.Argos {
		argo.Shared = seen.isShared(namespace, all.Items)
	}
	for _, namespace := range plan.EmptyNamespaces {
		argo := seen.Argos[namespace]
		if known, err := r.knowsAll(ctx, seen.key, namespace, argo); err != nil || !known {
			return false, err
		}
	}
	return true, nil
}

// knowsAll reports whether the cache has all Secrets of the GitOpsCluster in a namespace. A new Secret may not have
// arrived in the cache. After the GitOpsCluster leaves the namespace, such a Secret would stay for ever. Only plans
// that leave a namespace depend on this check.
func (r *Reconciler) knowsAll(ctx context.Context, key types.NamespacedName, namespace string, argo *clusterimport.Argo) (bool, error) {
	if argo.Forbidden {
		return true, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	asCached := client.MatchingLabels{apis.LabelSecretType: apis.SecretTypeCluster}
	if err := r.Live.List(ctx, list, client.InNamespace(namespace), asCached); err != nil {
		return false, err
	}
	for i := range list.Items {
		s := &corev1.Secret{ObjectMeta: list.Items[i].ObjectMeta}
		if clustersecret.OwnedBy(s, key) && !argo.Has(s.Name) {
			return false, nil
		}
	}
	return true, nil
}

// observeUsers reads the Applications that use Secrets before the removal of the Secrets. The cache has the
// Applications for pull, and the memory has the pushed Applications for which Secrets were last kept. Past the cache,
// all Applications of the hub are read.
func (r *Reconciler) observeUsers(ctx context.Context, seen *observation, secrets []*corev1.Secret) error {
	if seen.Users == nil {
		seen.Users = map[types.NamespacedName]*clusterimport.User{}
	}
	clusters := make([]string, len(secrets))
	for i, s := range secrets {
		clusters[i] = clustersecret.Cluster(s)
	}
	r.waiting.add(seen.key, clusters) // before the search for Applications, so that no deletion is missed
	all := clusterimport.Users{}
	if seen.Live {
		if err := r.observeApplications(ctx, all); err != nil {
			return err
		}
	}
	for _, s := range secrets {
		user := all.Of(s)
		if !seen.Live {
			var err error
			if user, err = r.observeUser(ctx, seen.key, s); err != nil {
				return err
			}
		}
		seen.Users[client.ObjectKeyFromObject(s)] = user
	}
	r.pushers.set(seen.key, seen.Users)
	return nil
}

// observeUser reads an Application that uses a Secret: an Application for pull, or the Application for which the Secret
// was last kept. A request for one Application costs the hub much less than a list of all.
func (r *Reconciler) observeUser(ctx context.Context, key types.NamespacedName, s *corev1.Secret) (*clusterimport.User, error) {
	if apps := index.ApplicationsOfCluster(ctx, r.Client, clustersecret.Cluster(s)); len(apps) > 0 {
		return &clusterimport.User{Application: apps[0]}, nil
	}
	last, known := r.pushers.last(key, client.ObjectKeyFromObject(s))
	if !known {
		return nil, nil //nolint:nilnil // none that is known
	}
	app, err := hub.Get(ctx, r.Live, last, &argocd.Application{})
	if err != nil || app == nil || !clusterimport.IsPushedTo(app, s) {
		return nil, err
	}
	return &clusterimport.User{Application: last, Pushed: true}, nil
}

// pulled selects the Applications for pull, whose metadata has the cluster. notPulled selects all remaining
// Applications. The values are the true values of strconv.ParseBool.
var pulled, notPulled = selector(" in "), selector(" notin ")

func selector(operator string) client.MatchingLabelsSelector {
	s, err := labels.Parse(apis.LabelPull + operator + "(1,t,T,true,TRUE,True)")
	if err != nil {
		panic(err) // the selector is a constant
	}
	return client.MatchingLabelsSelector{Selector: s}
}

// observeApplications reads all Applications of the hub past the cache, page by page. For Applications for pull, only
// the metadata is read, unless an Argo CD of the hub deploys an Application of the page too. Then the full page is
// read.
func (r *Reconciler) observeApplications(ctx context.Context, all clusterimport.Users) error {
	outlines := func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(argocd.GroupVersion.WithKind("ApplicationList"))
		return list
	}
	whole := func() *argocd.ApplicationList { return &argocd.ApplicationList{} }
	add := func(list *argocd.ApplicationList) {
		for i := range list.Items {
			all.Add(&list.Items[i])
		}
	}
	err := hub.Pages(ctx, r.Live, outlines, func(list *metav1.PartialObjectMetadataList, token string) error {
		deployed := false
		for _, m := range list.Items {
			app := &argocd.Application{ObjectMeta: m.ObjectMeta}
			deployed = deployed || !app.ReconcileSkipped()
			all.Add(app)
		}
		if !deployed {
			return nil
		}
		again := whole()
		if err := r.Live.List(ctx, again, pulled, client.Limit(page), client.Continue(token)); err != nil {
			return err
		}
		add(again)
		return nil
	}, pulled, client.Limit(page))
	if err != nil {
		return err
	}
	return hub.Pages(ctx, r.Live, whole, func(list *argocd.ApplicationList, _ string) error {
		add(list)
		return nil
	}, notPulled, client.Limit(page))
}

// observeTaken reads the Secrets whose names exist on the API server and not in the cache. The cache is behind, the
// Secret has lost the labels for the cache, or the Secret has a different purpose.
func (r *Reconciler) observeTaken(ctx context.Context, seen *observation, clusters []string) error {
	for _, cluster := range clusters {
		key := types.NamespacedName{Namespace: seen.GitOpsCluster.Spec.ArgoServer.ArgoNamespace, Name: clustersecret.Name(cluster)}
		s, err := hub.Get(ctx, r.Live, key, &corev1.Secret{})
		if err != nil {
			return err
		}
		seen.NoteTaken(cluster, s)
	}
	return seen.observeOthers(ctx) // two GitOpsClusters may want the same Secret: the order decides, and credentials without a known token are kept
}
