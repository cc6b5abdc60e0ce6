package main

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/reading"
)

// hub reads the hub, and notes refused reads.
type hub struct {
	client.Client

	// unread are the refused reads.
	unread reading.Unread

	// read caches the objects for a command that reads each object once; nil for a command that reads again.
	read map[string]client.Object
}

// connect returns a client for the hub of the kubeconfig. The client has a fixed list of kinds, and needs no
// discovery.
func (o *options) connect() (*hub, error) {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = cmp.Or(o.qps, 50), 100
	scheme, err := reading.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: reading.Mapper()})
	return &hub{Client: c}, err
}

// Get implements client.Reader.
func (h *hub) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	name := fmt.Sprintf("%T %s %s", obj, obj.GetObjectKind().GroupVersionKind(), key)
	if known := h.read[name]; known != nil {
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	err := h.unread.Note(h.Client, "get", obj, key.Namespace, h.Client.Get(ctx, key, obj, opts...))
	if known, ok := obj.DeepCopyObject().(client.Object); ok && err == nil && h.read != nil {
		h.read[name] = known
	}
	return err
}

// List implements client.Reader. A kind unknown to the hub has no objects.
func (h *hub) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	return client.IgnoreNotFound(h.unread.Note(h.Client, "list", list, o.Namespace, h.Client.List(ctx, list, opts...)))
}
