package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/view"
)

const (
	// pageSize is the number of objects in a list request: the hub answers soon, and the client needs little memory.
	pageSize = 500

	// reportPageSize is the page size for reports. A report may take a megabyte.
	reportPageSize = 20
)

// pages lists objects page by page, and calls take for each page. A cache has no pages, and returns all objects.
func pages[L client.ObjectList](ctx context.Context, c client.Reader, list L, size int64, take func(L) error, opts ...client.ListOption) error {
	_, cached := c.(cache.Cache)
	if cached {
		size = 0
	}
	for next := ""; ; {
		page := list.DeepCopyObject().(L)
		if err := c.List(ctx, page, append(slices.Clone(opts), client.Limit(size), client.Continue(next))...); err != nil {
			return err
		}
		if err := take(page); err != nil {
			return err
		}
		if next = page.GetContinue(); next == "" || cached {
			return nil
		}
	}
}

// applications calls take for each Application for pull.
func applications(ctx context.Context, c client.Reader, take func(*argocd.Application), opts ...client.ListOption) error {
	opts = append(slices.Clone(opts), client.HasLabels{apis.LabelPull})
	return pages(ctx, c, &argocd.ApplicationList{}, pageSize, func(page *argocd.ApplicationList) error {
		for i := range page.Items {
			if page.Items[i].Pulled() {
				take(&page.Items[i])
			}
		}
		return nil
	}, opts...)
}

// rows returns the rows of all Applications for pull.
func rows(ctx context.Context, c client.Reader, opts ...client.ListOption) ([]view.Row, error) {
	var out []view.Row
	err := applications(ctx, c, func(a *argocd.Application) { out = append(out, view.OfApplication(a)) }, opts...)
	view.Sort(out)
	return out, err
}

// rowsOfSet returns the rows of an ApplicationSet's Applications.
func rowsOfSet(ctx context.Context, c client.Reader, set types.NamespacedName) ([]view.Row, error) {
	var out []view.Row
	err := applications(ctx, c, func(a *argocd.Application) {
		if view.Of(a, set.Namespace, set.Name) {
			out = append(out, view.OfApplication(a))
		}
	}, client.InNamespace(set.Namespace))
	return out, err
}

// rowsOfSets returns the rows of the Applications of all ApplicationSets. The rows come from the short reports. For a
// truncated or missing report, the rows come from the Applications.
func rowsOfSets(ctx context.Context, h *hub, namespace string) ([]view.Row, error) {
	var out []view.Row
	cut, told := map[string]bool{}, map[string]bool{}
	take := func(page *v1alpha1.MulticlusterApplicationSetReportList) error {
		for i := range page.Items {
			s := view.SetOfReport(&page.Items[i])
			if told[s.Namespace+"/"+s.Name] = true; s.Omitted == 0 {
				out = append(out, s.Rows...)
			} else {
				cut[s.Namespace+"/"+s.Name] = true
			}
		}
		return nil
	}
	err := pages(ctx, h, &v1alpha1.MulticlusterApplicationSetReportList{}, reportPageSize, take, client.InNamespace(namespace))
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if len(told) == 0 {
		return rows(ctx, h, client.InNamespace(namespace))
	}
	without := func(set *metav1.PartialObjectMetadata) {
		if key := set.Namespace + "/" + set.Name; !told[key] {
			cut[key] = true
		}
	}
	err = eachMetadata(ctx, h, applicationSetKind, without, client.InNamespace(namespace))
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if len(cut) == 0 {
		return out, nil
	}
	all, err := rows(ctx, h, client.InNamespace(namespace))
	if err != nil && (len(out) == 0 || !apierrors.IsForbidden(err)) { // h notes the refused read, and the rows of the reports are shown
		return nil, err
	}
	return append(out, slices.DeleteFunc(all, func(r view.Row) bool { return !cut[r.Namespace+"/"+r.Set] })...), nil
}

// metadata returns an empty object of a kind, for a read of metadata only.
func metadata(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

// metadataList returns an empty list of a kind, for a read of metadata only.
func metadataList(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}

// eachMetadata calls take with the metadata of each object of a kind.
func eachMetadata(
	ctx context.Context, c client.Reader, gvk schema.GroupVersionKind, take func(*metav1.PartialObjectMetadata), opts ...client.ListOption,
) error {
	return pages(ctx, c, metadataList(gvk), pageSize, func(page *metav1.PartialObjectMetadataList) error {
		for i := range page.Items {
			take(&page.Items[i])
		}
		return nil
	}, opts...)
}

// The kinds of a name argument.
var (
	applicationKind    = argocd.GroupVersion.WithKind("Application")
	applicationSetKind = argocd.GroupVersion.WithKind("ApplicationSet")
)

// prefixes maps the prefix of a name argument to the kind.
var prefixes = map[string]schema.GroupVersionKind{
	"app": applicationKind, "application": applicationKind, "applications": applicationKind, "application.argoproj.io": applicationKind,
	"appset": applicationSetKind, "applicationset": applicationSetKind, "applicationsets": applicationSetKind,
	"applicationset.argoproj.io": applicationSetKind,
}

// named returns the Application of the name, or else the ApplicationSet. A prefix, as in appset/guestbook, selects
// the kind.
func (h *hub) named(ctx context.Context, namespace, arg string) (schema.GroupVersionKind, types.NamespacedName, error) {
	kind, name, err := splitName(arg)
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if err != nil || !kind.Empty() {
		return kind, key, err
	}
	for _, kind := range []schema.GroupVersionKind{applicationKind, applicationSetKind} {
		found, err := reading.Get(ctx, h, key, metadata(kind))
		if err != nil {
			return kind, key, err
		}
		if found != nil {
			return kind, key, nil
		}
	}
	return kind, key, fmt.Errorf("neither an Application nor an ApplicationSet %s exists", key)
}

// splitName splits a name argument into kind and name. The kind is empty without a prefix.
func splitName(arg string) (schema.GroupVersionKind, string, error) {
	for prefix, kind := range prefixes {
		if name, ok := strings.CutPrefix(arg, prefix+"/"); ok {
			return kind, name, nil
		}
	}
	if strings.Contains(arg, "/") {
		return schema.GroupVersionKind{}, "", fmt.Errorf("%q is neither a name, nor app/NAME, nor appset/NAME: name the namespace with -n", arg)
	}
	return schema.GroupVersionKind{}, arg, nil
}

// unserved reports whether the error means a refused read, or a kind unknown to the hub.
func unserved(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}
