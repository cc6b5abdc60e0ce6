// Package home tells Applications which namespace administrators chose on their cluster, for those that name none themselves.
//
// It does so wherever Applications are read, in the cache and past it: index, decision, rights and payload then all go by the same
// namespace. Nothing of it is written to the hub.
package home

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// OfHub stands for the Application's namespace on the hub in a chosen namespace.
const OfHub = "{namespace}"

// Namespaces are the chosen namespaces, by the name of the cluster. With OfHub in it, the Applications of each namespace of the hub have
// one of their own, and tenants no names in common.
type Namespaces map[string]string

// Set gives an Application the namespace that was chosen for its cluster.
func (n Namespaces) Set(app *argocd.Application) {
	app.Home = strings.ReplaceAll(n[app.Cluster()], OfHub, app.Namespace)
}

// Valid tells whether that may be a chosen namespace.
func Valid(namespace string) bool {
	return len(validation.IsDNS1123Label(strings.ReplaceAll(namespace, OfHub, "x"))) == 0
}

// Transform does so for what a cache is to hold, after another transform.
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

// Reader does so for what is read from the API server.
func (n Namespaces) Reader(live client.Reader) client.Reader {
	if len(n) == 0 {
		return live
	}
	return reader{live, n}
}

// Client is a client that reads so.
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
