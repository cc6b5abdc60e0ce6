package resourcetree

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/tree"
)

// +kubebuilder:rbac:groups="",namespace=argocd,resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups="",namespace=argocd,resources=configmaps,resourceNames=argocd-cm,verbs=list;watch

const (
	// argocdSettings is the ConfigMap of Argo CD's settings.
	argocdSettings = "argocd-cm"

	// hubEnabled is the key of settings that permits Argo CD to work with its own cluster. Argo CD treats every value
	// except "false" as true, and also a missing value.
	hubEnabled = "cluster.inClusterEnabled"

	// byDestination finds the cluster Secrets of a destination: "name <name>" or "server <address>".
	byDestination = "secret.destination"
)

// Paths decides to which Applications' clusters the hub's argocd-server has its own network path.
type Paths struct {
	// Reader holds the cluster Secrets of Argo CD's namespace, and Argo CD's settings.
	client.Reader

	// Home is the namespace of Argo CD.
	Home string

	cache cache.Cache // the cache behind Reader, if a manager runs
}

// NewPaths creates a cache of the Secrets and settings for Paths, and adds the cache to a manager. The cache is
// separate from other caches, because the cache holds less of each Secret than other packages need, and no credentials.
func NewPaths(ctx context.Context, mgr ctrl.Manager, home string) (*Paths, error) {
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces:           map[string]cache.Config{home: {}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Label:     labels.SelectorFromSet(labels.Set{apis.LabelSecretType: apis.SecretTypeCluster}),
				Transform: clustersecret.TrimPlace,
			},
			&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", argocdSettings), Transform: hubEnabledOnly},
		},
	})
	if err != nil {
		return nil, err
	}
	if err := c.IndexField(ctx, &corev1.Secret{}, byDestination, destinationsOf); err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}} {
		if _, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	return &Paths{Reader: c, Home: home, cache: c}, informer.AddCache(mgr, "cluster-secrets", c,
		"the cluster Secrets of Argo CD have not been read yet: may this ServiceAccount list them?")
}

// live returns true if argocd-server can find an Application's resources on the cluster. An unreadable Secret list
// counts as no path.
func (p *Paths) live(ctx context.Context, app *argocd.Application) bool {
	if p == nil || app.DestinationThere().Canonical() != argocd.InCluster { // the hub's Secret is for a different cluster
		return false
	}
	name, server := app.Destination()
	by := "name " + name
	if server != "" {
		by = "server " + server
	}
	secrets := &corev1.SecretList{}
	if p.List(ctx, secrets, client.MatchingFields{byDestination: by}, client.UnsafeDisableDeepCopy) != nil {
		return false
	}
	path := tree.Path{Cluster: app.Cluster(), Name: name, Server: server, HubRefused: p.hubRefused(ctx)}
	for i := range secrets.Items {
		path.Secrets = append(path.Secrets, clustersecret.PlaceOf(&secrets.Items[i]))
	}
	return path.Live()
}

// hubRefused returns true if Argo CD refuses to work with its own cluster.
func (p *Paths) hubRefused(ctx context.Context) bool {
	cm := &corev1.ConfigMap{}
	err := p.Get(ctx, types.NamespacedName{Namespace: p.Home, Name: argocdSettings}, cm, client.UnsafeDisableDeepCopy)
	return err == nil && cm.Data[hubEnabled] == "false"
}

// destinationsOf returns the index keys of a Secret's cluster, by name and by address.
func destinationsOf(obj client.Object) []string {
	p := clustersecret.PlaceOf(obj.(*corev1.Secret))
	return []string{"name " + p.Name, "server " + p.Server}
}

// hubEnabledOnly keeps only the key hubEnabled of the settings.
func hubEnabledOnly(obj any) (any, error) {
	cm, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return obj, nil // a tombstone
	}
	out := &corev1.ConfigMap{TypeMeta: cm.TypeMeta}
	out.Namespace, out.Name, out.UID, out.ResourceVersion = cm.Namespace, cm.Name, cm.UID, cm.ResourceVersion
	if value, there := cm.Data[hubEnabled]; there {
		out.Data = map[string]string{hubEnabled: value}
	}
	return out, nil
}
