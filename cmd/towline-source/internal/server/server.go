package server

import (
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	registry "k8s.io/apiserver/pkg/registry/rest"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/towline-io/towline/cmd/towline-source/internal/managed"
	"github.com/towline-io/towline/cmd/towline-source/internal/mirror"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/pace"
	"github.com/towline-io/towline/pkg/source"
)

// Options are the options of the API server: for serving, for the hub's authentication and authorization, and the limits
// of requests.
type Options struct {
	// MaxRequests is the maximum number of requests of all clusters at the same time, and MaxClusterRequests of a single
	// cluster.
	MaxRequests, MaxClusterRequests int

	recommended *options.RecommendedOptions
}

// NewOptions returns the default options.
func NewOptions() *Options {
	o := options.NewRecommendedOptions("", nil)
	o.Etcd, o.Admission = nil, nil // nothing is stored
	o.EgressSelector, o.Traces = nil, nil
	o.SecureServing.BindPort = 8443
	// The hub's API server already limits the requests of users.
	o.Features.EnablePriorityAndFairness = false
	return &Options{MaxRequests: 64, MaxClusterRequests: 8, recommended: o}
}

// AddFlags registers the flags of the limits, and the flags of Kubernetes' library for API servers.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.MaxRequests, "max-requests", o.MaxRequests, "how many requests of all clusters are answered at the same time")
	fs.IntVar(&o.MaxClusterRequests, "max-cluster-requests", o.MaxClusterRequests, "how many requests of a single cluster are answered at the same time")
	o.recommended.AddFlags(fs)
}

// Validate returns an error for invalid options.
func (o *Options) Validate() error {
	errs := o.recommended.Validate()
	if o.MaxRequests < 1 {
		errs = append(errs, fmt.Errorf("--max-requests: %d is not at least 1", o.MaxRequests))
	}
	if o.MaxClusterRequests < 1 {
		errs = append(errs, fmt.Errorf("--max-cluster-requests: %d is not at least 1", o.MaxClusterRequests))
	}
	return utilerrors.NewAggregate(errs)
}

// HubConfig returns the connection to the hub: the flag --kubeconfig, or the ServiceAccount of the Pod.
func (o *Options) HubConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.recommended.CoreAPI.CoreAPIKubeconfigPath)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	config.UserAgent = name
	config.QPS = -1 // the hub's API server limits its clients
	return config, nil
}

// New returns a server of the repositories, and of managed resources if entries is not nil.
func New(o *Options, hub Hub, mirrors *mirror.Mirrors, entries *managed.Entries, log logr.Logger) (*genericserver.GenericAPIServer, error) {
	if err := o.recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, nil); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	config, scheme := newConfig()
	if err := o.recommended.ApplyTo(config); err != nil {
		return nil, err
	}
	return install(config, scheme, &handler{
		hub: hub, mirrors: mirrors, managed: entries, log: log, pace: pace.Default, recheck: time.Second,
		limits: newLimits(o.MaxRequests, o.MaxClusterRequests),
	})
}

// name is the name of the server, and the title of the OpenAPI documents.
const name = "towline-source"

// newConfig returns the configuration and the scheme of the server. The configuration lacks the address of the server
// and the hub's authentication and authorization.
func newConfig() (*genericserver.RecommendedConfig, *runtime.Scheme) {
	scheme := newScheme()
	config := genericserver.NewRecommendedConfig(serializer.NewCodecFactory(scheme))
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	namer := openapi.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericserver.DefaultOpenAPIV3Config(definitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = name, name
	// As in the hub's API server (1.35, cmd/kube-apiserver): a request of this subresource may take longer than a minute.
	config.LongRunningFunc = filters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString(source.Proxy))
	return config, scheme
}

// install returns a server with the API of repositories.
func install(config *genericserver.RecommendedConfig, scheme *runtime.Scheme, h *handler) (*genericserver.GenericAPIServer, error) {
	server, err := config.Complete().New(name, genericserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	server.ShutdownTimeout = watchesEnd
	h.mirrors.OnFailure = h.lookFailed
	codecs := serializer.NewCodecFactory(scheme)
	group := genericserver.NewDefaultAPIGroupInfo(source.GroupVersion.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	storage := map[string]registry.Storage{
		source.Resource:                      &repositories{hub: h.hub, mirrors: h.mirrors},
		source.Resource + "/" + source.Proxy: &proxy{h},
	}
	if h.managed != nil {
		storage[managedresources.Resource] = &managedStorage{handler: h}
	}
	group.VersionedResourcesStorageMap[source.GroupVersion.Version] = storage
	return server, server.InstallAPIGroup(&group)
}

// newScheme returns a scheme with the types of repositories. The served version and the library's internal version have
// the same Go types.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	internal := schema.GroupVersion{Group: source.GroupVersion.Group, Version: runtime.APIVersionInternal}
	for _, version := range []schema.GroupVersion{source.GroupVersion, internal} {
		scheme.AddKnownTypes(version, &Repository{}, &RepositoryList{}, &RepositoryProxyOptions{}, &ManagedResources{})
	}
	metav1.AddToGroupVersion(scheme, source.GroupVersion)
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{},
		&metav1.APIResourceList{})
	if err := scheme.AddConversionFunc((*url.Values)(nil), (*RepositoryProxyOptions)(nil), readPath); err != nil {
		panic(err) // the types are fixed
	}
	if err := scheme.SetVersionPriority(source.GroupVersion); err != nil {
		panic(err)
	}
	return scheme
}

// readPath reads the options of the subresource proxy from the parameters of a request.
func readPath(from, to any, _ conversion.Scope) error {
	to.(*RepositoryProxyOptions).Path = from.(*url.Values).Get("path")
	return nil
}

// definitions returns the OpenAPI definitions of the served types.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	out := generatedopenapi.GetOpenAPIDefinitions(ref)
	free := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	free.Extensions = spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}
	const pkg = "github.com/towline-io/towline/cmd/towline-source/internal/server."
	for _, kind := range []string{"Repository", "RepositoryList", "RepositoryProxyOptions", managedresources.Kind} {
		out[pkg+kind] = common.OpenAPIDefinition{Schema: free}
	}
	return out
}
