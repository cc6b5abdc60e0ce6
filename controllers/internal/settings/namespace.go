package settings

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// HubNamespace is the placeholder in a chosen namespace for the Application's namespace on the hub.
const HubNamespace = "{namespace}"

// Namespaces are the chosen namespaces, by the name of the cluster. A chosen namespace with HubNamespace gives each hub
// namespace its own namespace on the cluster. Tenants then share no names.
//
// An Application without a requested namespace gets the chosen namespace of its cluster at every read, from the cache
// and past the cache. Index, decision, rights and payload therefore use the same namespace. The chosen namespace is not
// written to the hub.
type Namespaces map[string]string

// Set gives an Application the namespace chosen for its cluster.
func (n Namespaces) Set(app *argocd.Application) {
	app.Home = strings.ReplaceAll(n[app.Cluster()], HubNamespace, app.Namespace)
}

// ValidNamespace returns true if the value is allowed as a chosen namespace.
func ValidNamespace(namespace string) bool {
	return len(validation.IsDNS1123Label(strings.ReplaceAll(namespace, HubNamespace, "x"))) == 0
}

// Transform returns a cache transform that calls before, and then sets the chosen namespace of Applications.
func (n Namespaces) Transform(before toolscache.TransformFunc) toolscache.TransformFunc {
	if len(n) == 0 {
		return before
	}
	return func(obj any) (any, error) {
		obj, err := before(obj)
		if app, ok := obj.(*argocd.Application); ok {
			n.Set(app)
		}
		return obj, err
	}
}

// Reader returns a reader that sets the chosen namespace of Applications read from the API server.
func (n Namespaces) Reader(live client.Reader) client.Reader {
	if len(n) == 0 {
		return live
	}
	return reader{live, n}
}

// Client returns a client with the chosen namespace in all read Applications.
func (n Namespaces) Client(c client.Client) client.Client { return homed{c, n.Reader(c)} }

type homed struct {
	client.Client

	reader client.Reader
}

// Get implements client.Reader.
func (h homed) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return h.reader.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (h homed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return h.reader.List(ctx, list, opts...)
}

type reader struct {
	client.Reader

	chosen Namespaces
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	if app, ok := obj.(*argocd.Application); ok && err == nil {
		r.chosen.Set(app)
	}
	return err
}

func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := r.Reader.List(ctx, list, opts...)
	if apps, ok := list.(*argocd.ApplicationList); ok && err == nil {
		for i := range apps.Items {
			r.chosen.Set(&apps.Items[i])
		}
	}
	return err
}
