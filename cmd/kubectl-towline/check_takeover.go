package main

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/work"
)

// takeoverLines returns Towline's decision for each Application.
func (o *checkOptions) takeoverLines(ctx context.Context) ([]check.Line, error) {
	o.qps = -1 // no client limit: each Application needs some five requests
	h, err := o.connect()
	if err != nil {
		return nil, err
	}
	if err := o.towline.Read(ctx, h); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return takeover(ctx, h, &o.towline)
}

// takeover returns Towline's decision for each Application, from the objects that the client may read.
func takeover(ctx context.Context, c client.Client, t *reading.Flags) ([]check.Line, error) {
	once := &remembering{Client: c, known: map[string]runtime.Object{}, refused: map[string]error{}}
	explainer, err := t.Explainer(once)
	if err != nil {
		return nil, err
	}
	var apps []*argocd.Application // only metadata: the decision reads each Application itself
	known := map[types.NamespacedName]bool{}
	err = eachMetadata(ctx, c, applicationKind, func(m *metav1.PartialObjectMetadata) {
		app := &argocd.Application{ObjectMeta: m.ObjectMeta}
		if known[client.ObjectKeyFromObject(app)] = true; app.Pulled() {
			apps = append(apps, app)
		}
	})
	if err != nil {
		return nil, err
	}
	fates := make([]check.Fate, len(apps))
	for i, app := range apps {
		if fates[i] = fateOf(ctx, explainer, once, app); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	lost, err := withoutApplication(ctx, c, known)
	switch {
	case apierrors.IsForbidden(err):
		return append(check.Takeover(fates, nil), check.UnreadWorks()), nil
	case err != nil:
		return nil, err
	}
	return check.Takeover(fates, lost), nil
}

// fateOf returns Towline's decision for an Application. A failed decision does not affect the other Applications.
func fateOf(ctx context.Context, explainer *propagation.Explainer, once *remembering, app *argocd.Application) check.Fate {
	f := check.Fate{Application: app.Namespace + "/" + app.Name}
	once.refusal = nil
	facts, plan, err := explainer.Explain(ctx, app)
	if err = cmp.Or(err, once.refusal); err != nil { // a rule may ignore a refused read, and then the decision is not reliable
		f.Unread = err.Error()
		return f
	}
	f.Plan, f.Sent, f.Older = plan, facts.Own != nil, facts.Own != nil && work.ByOlder(facts.Own)
	return f
}

// withoutApplication returns the works of Applications missing on the hub.
func withoutApplication(ctx context.Context, c client.Reader, known map[types.NamespacedName]bool) ([]string, error) {
	var out []string
	return out, eachMetadata(ctx, c, workKind, func(w *metav1.PartialObjectMetadata) {
		key := types.NamespacedName{Namespace: w.Annotations[apis.AnnotationHubNamespace], Name: w.Annotations[apis.AnnotationHubName]}
		if key.Name != "" && !known[key] && w.DeletionTimestamp == nil {
			out = append(out, w.Namespace+"/"+w.Name)
		}
	})
}

// remembering is a client that reads each object only once. Decisions about many Applications need the same objects.
type remembering struct {
	client.Client

	known   map[string]runtime.Object
	refused map[string]error

	// refusal is the first refused read since the caller cleared the field.
	refusal error
}

// Get implements client.Reader.
func (r *remembering) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return r.once(fmt.Sprintf("%T %v %s", obj, obj.GetObjectKind().GroupVersionKind(), key), obj, func() error {
		return r.Client.Get(ctx, key, obj, opts...)
	})
}

// List implements client.Reader.
func (r *remembering) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	asked := fmt.Sprintf("%T %v %s %v %v %d %s", list, list.GetObjectKind().GroupVersionKind(), o.Namespace, o.LabelSelector, o.FieldSelector,
		o.Limit, o.Continue)
	return r.once(asked, list, func() error { return r.Client.List(ctx, list, opts...) })
}

// once reads the object, unless the object is known already.
func (r *remembering) once(asked string, into runtime.Object, read func() error) error {
	if known, ok := r.known[asked]; ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	err := r.refused[asked]
	if err == nil {
		err = read()
	}
	if apierrors.IsForbidden(err) {
		r.refused[asked], r.refusal = err, cmp.Or(r.refusal, err)
	}
	if err != nil {
		return err
	}
	r.known[asked] = into.DeepCopyObject()
	return nil
}
