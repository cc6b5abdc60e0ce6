// Package hub reads the facts on the hub from a cache: the grants, and the credentials of repositories.
package hub

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/cmd/towline-source/internal/credential"
	"github.com/towline-io/towline/cmd/towline-source/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// The ConfigMaps of Argo CD with the trusted authorities and host keys, and the key of the latter.
const (
	authorities = "argocd-tls-certs-cm"
	hostKeys    = "argocd-ssh-known-hosts-cm"
	knownHosts  = "ssh_known_hosts"
)

// Hub reads from a cache.
type Hub struct {
	grants.Grants

	cache     cache.Cache
	namespace string // of the hub's Argo CD

	// trusted are the followed ConfigMaps by name. Each has an informer of its own, so that the process needs no right to
	// read further ConfigMaps.
	trusted map[string]toolscache.SharedIndexInformer
}

// New returns a Hub for the Argo CD of a namespace. Start fills the cache. stale is called with the addresses of an
// Application when the Application changes, or asks for a refresh. more are further ConfigMaps to follow.
func New(ctx context.Context, config *rest.Config, namespace string, stale func(address string), more ...string) (*Hub, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argocd.AddToScheme, corev1.AddToScheme, workv1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := cache.New(config, options(scheme, namespace))
	if err != nil {
		return nil, err
	}
	if err := grants.Setup(ctx, c); err != nil {
		return nil, err
	}
	informer, err := c.GetInformer(ctx, &argocd.Application{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) { noteChange(before, after, stale) }})
	if err != nil {
		return nil, err
	}
	for _, object := range []client.Object{grants.Works(), &corev1.Secret{}} {
		if _, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	h := &Hub{Grants: grants.Grants{Reader: c}, cache: c, namespace: namespace, trusted: map[string]toolscache.SharedIndexInformer{}}
	for _, name := range append([]string{authorities, hostKeys}, more...) {
		h.trusted[name] = coreinformers.NewFilteredConfigMapInformer(clients, namespace, 0, toolscache.Indexers{}, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		})
	}
	return h, nil
}

// options limit the cache to the needed objects and fields.
func options(scheme *runtime.Scheme, namespace string) cache.Options {
	kinds, err := labels.NewRequirement(apis.LabelSecretType, selection.In, []string{apis.SecretTypeRepository, apis.SecretTypeRepoCreds})
	if err != nil {
		panic(err) // the requirement is fixed
	}
	home := map[string]cache.Config{namespace: {}}
	return cache.Options{
		Scheme: scheme,
		ByObject: map[client.Object]cache.ByObject{
			&argocd.Application{}: {Label: pulled(), Transform: trimApplication},
			grants.Works():        {Label: pulled(), Transform: trimMetadata},
			&corev1.Secret{}:      {Namespaces: home, Label: labels.NewSelector().Add(*kinds), Transform: trimMetadata},
		},
	}
}

// pulled selects the objects with the pull label.
func pulled() labels.Selector {
	exists, err := labels.NewRequirement(apis.LabelPull, selection.Exists, nil)
	if err != nil {
		panic(err) // the requirement is fixed
	}
	return labels.NewSelector().Add(*exists)
}

func trimApplication(object any) (any, error) {
	if app, ok := object.(*argocd.Application); ok {
		app.Status, app.Operation, app.Unknown = argocd.Status{History: repositories(app)}, nil, nil
	}
	return trimMetadata(object)
}

// repositories returns a history with only the sources, and each repository once.
func repositories(app *argocd.Application) (out []argocd.Deployment) {
	seen := map[string]bool{}
	for _, s := range source.History(app) {
		if !seen[s.RepoURL] {
			seen[s.RepoURL] = true
			out = append(out, argocd.Deployment{Source: &argocd.Source{RepoURL: s.RepoURL, TargetRevision: s.TargetRevision}})
		}
	}
	return out
}

func trimMetadata(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// noteChange calls stale for the repositories of an Application that asks for a refresh or an operation. Argo CD's
// webhook asks for a refresh of each Application of the changed repository.
func noteChange(before, after any, stale func(address string)) {
	old, ok := before.(*argocd.Application)
	app, ok2 := after.(*argocd.Application)
	if !ok || !ok2 || app.Refresh() == "" || old.Refresh() == app.Refresh() && old.ResourceVersion == app.ResourceVersion {
		return
	}
	for _, address := range source.Addresses(app.Spec.Raw) {
		stale(address)
	}
}

// Start fills the cache and follows the hub until ctx ends.
func (h *Hub) Start(ctx context.Context) error {
	for _, informer := range h.trusted {
		go informer.RunWithContext(ctx)
	}
	return h.cache.Start(ctx)
}

// Synced returns whether the cache is filled. Without a filled cache, a grant may be missing.
func (h *Hub) Synced(ctx context.Context) bool {
	for _, informer := range h.trusted {
		if !informer.HasSynced() {
			return false
		}
	}
	done, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	return h.cache.WaitForCacheSync(done)
}

// Credential returns the hub's access to the repository of a grant. The AppProjects of the grant must have the same
// credential, because the answer to the cluster is the same for the Applications of all AppProjects.
func (h *Hub) Credential(ctx context.Context, grant grants.Grant) (credential.Credential, error) {
	secrets := &corev1.SecretList{}
	if err := h.List(ctx, secrets, client.InNamespace(h.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return credential.Credential{}, err
	}
	var out credential.Credential
	for i, project := range grant.Projects {
		found, err := credential.For(project, grant.Address, secrets.Items)
		switch {
		case err != nil:
			return credential.Credential{}, err
		case i > 0 && !reflect.DeepEqual(found, out):
			return credential.Credential{}, credential.Error(fmt.Sprintf("the AppProjects %s and %s have different Secrets for the repository, and both "+
				"have Applications on the cluster: use a single Secret without a project", grant.Projects[0], project))
		}
		out = found
	}
	out.CA, out.KnownHosts = h.text(authorities, hostname(grant.Address)), h.text(hostKeys, knownHosts)
	return out, nil
}

// text returns the text of a key in a followed ConfigMap; empty without the ConfigMap or the key.
func (h *Hub) text(name, key string) string {
	if h.trusted[name] == nil {
		return ""
	}
	for _, object := range h.trusted[name].GetStore().List() {
		if cm, ok := object.(*corev1.ConfigMap); ok && cm.Name == name {
			return cm.Data[key]
		}
	}
	return ""
}

// hostname returns the host in an address of HTTPS; empty for all other addresses.
func hostname(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || !strings.HasPrefix(u.Scheme, "http") {
		return ""
	}
	return u.Hostname()
}
