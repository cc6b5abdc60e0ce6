package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/contact"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// Options are those of the API server: how it serves, and which hub it asks who a user is and what he may do.
type Options struct {
	// LeaderElect has one of several processes lead, by a Lease in LeaderElectNamespace.
	LeaderElect          bool
	LeaderElectNamespace string

	recommended *options.RecommendedOptions
}

// NewOptions are the defaults.
func NewOptions() *Options {
	o := options.NewRecommendedOptions("", nil)
	o.Etcd = nil // Maestro has the works
	o.EgressSelector, o.Traces = nil, nil
	o.SecureServing.BindPort = 8443
	// The hub's API server has limited its users already.
	o.Features.EnablePriorityAndFairness = false
	return &Options{LeaderElect: true, LeaderElectNamespace: "argocd", recommended: o}
}

// AddFlags registers these, and the flags of Kubernetes' library for API servers.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "of several processes one serves, and the others wait for it to end")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", o.LeaderElectNamespace, "namespace of the Lease by which one is chosen")
	o.recommended.AddFlags(fs)
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error { return utilerrors.NewAggregate(o.recommended.Validate()) }

// New makes a server of a mirror's works, and gives a client of the hub. The server is ready when the mirror has been filled, and Maestro
// does not refuse to tell of statuses.
func New(o *Options, m *mirror.Mirror, c *contact.Contact, log logr.Logger) (*genericserver.GenericAPIServer, kubernetes.Interface, error) {
	if err := o.recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, nil); err != nil {
		return nil, nil, fmt.Errorf("certificate: %w", err)
	}
	config, scheme, err := newConfig(m, c, log)
	if err != nil {
		return nil, nil, err
	}
	if err := o.recommended.ApplyTo(config); err != nil {
		return nil, nil, err
	}
	server, err := install(config, scheme, m)
	if err != nil {
		return nil, nil, err
	}
	hub, err := kubernetes.NewForConfig(config.ClientConfig)
	return server, hub, err
}

// refuseStreams has the library refuse watches that ask for all works first (sendInitialEvents), as API servers before Kubernetes 1.34
// do (1.32 excepted): then client-go's caches ask for lists. Both sides need twice the CPU to write and to read 100,000 works as events of a watch.
func refuseStreams() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.WatchList): false})
}

// newConfig is the configuration of the server, but for where it serves and whom it asks.
func newConfig(m *mirror.Mirror, c *contact.Contact, log logr.Logger) (*genericserver.RecommendedConfig, *runtime.Scheme, error) {
	scheme, err := newScheme()
	if err = errors.Join(err, refuseStreams()); err != nil {
		return nil, nil, err
	}
	config := genericserver.NewRecommendedConfig(serializer.NewCodecFactory(scheme))
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	namer := openapi.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericserver.DefaultOpenAPIV3Config(definitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = name, name
	config.ShutdownWatchTerminationGracePeriod = watchesEnd
	config.AddReadyzChecks(healthz.NamedCheck("works", func(*http.Request) error {
		err := ready(m, c)
		if err != nil {
			log.Info("Not ready", "reason", err.Error())
		}
		return err
	}))
	return config, scheme, nil
}

// ready says what the process lacks to serve works, with what Maestro said last. Who may read /readyz/works sees it, and the log.
func ready(m *mirror.Mirror, c *contact.Contact) error {
	var err error
	switch err = leads(m); {
	case err != nil:
	case c.Refused() != nil:
		err = errNotTold
	default:
		return nil
	}
	if last := c.LastError(); last != nil {
		return fmt.Errorf("%w; the last error: %w", err, last)
	}
	return err
}

// leads is an error for a process that has not read the works, or does not lead any more.
func leads(m *mirror.Mirror) error {
	if !m.Filled() {
		return errNotFilled
	}
	return m.MayWrite()
}

// install makes the server, and has it serve works.
func install(config *genericserver.RecommendedConfig, scheme *runtime.Scheme, m *mirror.Mirror) (*genericserver.GenericAPIServer, error) {
	server, err := config.Complete().New(name, genericserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	server.ShutdownTimeout = watchesEnd
	group := genericserver.NewDefaultAPIGroupInfo(workv1.GroupName, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
	group.VersionedResourcesStorageMap[version.Version] = map[string]rest.Storage{
		"manifestworks": &works{TableConvertor: rest.NewDefaultTableConvertor(mirror.Resource), mirror: m},
	}
	return server, server.InstallAPIGroup(&group)
}

// name is that of the server.
const name = "towline-maestro"

// watchesEnd is how long a server that stops waits for open watches to end, and then for their connections to be closed. Without it the
// library tells watches nothing, and waits a minute for them, its RequestTimeout. So long, a client that watches sees no change, though
// another process leads already.
const watchesEnd = 10 * time.Second

// errNotFilled says that an empty list would be wrong: this process does not lead, or has just begun to.
var errNotFilled = errors.New("the works have not been read from Maestro yet")

// errNotTold says that the works would stay as they are: Maestro has not let this process subscribe yet.
var errNotTold = errors.New("statuses are not told by Maestro")

// version is the API that is served.
var version = schema.GroupVersion{Group: workv1.GroupName, Version: workv1.GroupVersion.Version}

// newScheme knows works, as the API's version and as the library's internal one: they are the same type.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := workv1.Install(scheme); err != nil {
		return nil, err
	}
	internal := schema.GroupVersion{Group: workv1.GroupName, Version: runtime.APIVersionInternal}
	scheme.AddKnownTypes(internal, &workv1.ManifestWork{}, &workv1.ManifestWorkList{})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{},
		&metav1.APIResourceList{})
	return scheme, scheme.SetVersionPriority(version)
}

// definitions are the OpenAPI definitions of what is served. A work's own are those of its CRD, which the hub has: here its spec and its
// status are objects of any content.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	out := generatedopenapi.GetOpenAPIDefinitions(ref)
	object := func(properties map[string]spec.Schema) spec.Schema {
		s := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}}
		if properties == nil {
			s.Extensions = spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}
		}
		return s
	}
	text := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
	of := func(name string) spec.Schema { return spec.Schema{SchemaProps: spec.SchemaProps{Ref: ref(name)}} }
	meta, listMeta := metav1.ObjectMeta{}.OpenAPIModelName(), metav1.ListMeta{}.OpenAPIModelName()
	const pkg = "io.open-cluster-management.api.work.v1." // as the library names a type's definition
	out[pkg+"ManifestWork"] = common.OpenAPIDefinition{
		Schema: object(map[string]spec.Schema{
			"apiVersion": text, "kind": text, "metadata": of(meta), "spec": object(nil), "status": object(nil),
		}),
		Dependencies: []string{meta},
	}
	items := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"array"}, Items: &spec.SchemaOrArray{
		Schema: ptr.To(of(pkg + "ManifestWork")),
	}}}
	out[pkg+"ManifestWorkList"] = common.OpenAPIDefinition{
		Schema: object(map[string]spec.Schema{
			"apiVersion": text, "kind": text, "metadata": of(listMeta), "items": items,
		}),
		Dependencies: []string{listMeta, pkg + "ManifestWork"},
	}
	return out
}
