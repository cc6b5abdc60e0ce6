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

// Options are the options of the API server: for serving, for the leader election, and for the hub's authentication and
// authorization.
type Options struct {
	// LeaderElect turns on the leader election: of several processes, only the holder of a Lease in
	// LeaderElectNamespace leads.
	LeaderElect          bool
	LeaderElectNamespace string

	recommended *options.RecommendedOptions
}

// NewOptions returns the default options.
func NewOptions() *Options {
	o := options.NewRecommendedOptions("", nil)
	o.Etcd = nil // Maestro stores the works.
	o.EgressSelector, o.Traces = nil, nil
	o.SecureServing.BindPort = 8443
	// The hub's API server already limits the requests of users.
	o.Features.EnablePriorityAndFairness = false
	return &Options{LeaderElect: true, LeaderElectNamespace: "argocd", recommended: o}
}

// AddFlags registers the flags of the leader election, and the flags of Kubernetes' library for API servers.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "of several processes one serves, and the others wait for it to end")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", o.LeaderElectNamespace, "namespace of the Lease by which one is chosen")
	o.recommended.AddFlags(fs)
}

// Validate returns an error for invalid options.
func (o *Options) Validate() error { return utilerrors.NewAggregate(o.recommended.Validate()) }

// New returns a server of a mirror's works, and a client of the hub. The server is ready if the mirror has read all
// works and Maestro does not refuse the subscription to statuses.
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

// refuseStreams makes the library refuse watches with a request for all works first (sendInitialEvents), like API
// servers before Kubernetes 1.34 (except 1.32). Then client-go's caches use lists. With 100,000 works as the events of
// a watch, the server and the client need twice the CPU of a list.
func refuseStreams() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.WatchList): false})
}

// newConfig returns the configuration and the scheme of the server. The configuration lacks the address of the server
// and the hub's authentication and authorization.
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

// ready returns the obstacle to serving works, with the last error of Maestro, or nil. The error is visible in the log,
// and to users with the right to read /readyz/works.
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

// leads returns an error if the process has not read the works, or no longer leads.
func leads(m *mirror.Mirror) error {
	if !m.Filled() {
		return errNotFilled
	}
	return m.MayWrite()
}

// install returns a server with the API of works.
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

// name is the name of the server, and the title of the OpenAPI documents.
const name = "towline-maestro"

// watchesEnd is the time that a stopping server waits for the end of open watches, and then again for the end of the
// connections. Without watchesEnd, the library does not end the watches, and waits for the watches for a minute
// (RequestTimeout). In the minute, a watching client sees no change, although a new process already leads.
const watchesEnd = 10 * time.Second

// errNotFilled means that the mirror has not read the works. The process does not lead, or has just begun to lead. An
// empty list would be wrong.
var errNotFilled = errors.New("the works have not been read from Maestro yet")

// errNotTold means that the mirror would miss status changes, because Maestro has not accepted the subscription of the
// process yet.
var errNotTold = errors.New("statuses are not told by Maestro")

// version is the served API group and version.
var version = schema.GroupVersion{Group: workv1.GroupName, Version: workv1.GroupVersion.Version}

// newScheme returns a scheme with the types of works. The version v1 and the library's internal version have the same
// Go types.
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

// definitions returns the OpenAPI definitions of the served types. The spec and the status of a work are objects with
// any content, because the hub's CRD has the definitions of the fields.
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
	const pkg = "io.open-cluster-management.api.work.v1." // the library's prefix for the definitions of the Go package
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
