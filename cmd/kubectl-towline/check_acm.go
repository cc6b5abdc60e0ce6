package main

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/generator"
	"github.com/towline-io/towline/pkg/reading"
)

// acm reads the requirements of the profile acm. Refused reads are not checked.
func (r *factReader) acm(ctx context.Context) error {
	if !r.facts.IsACM() {
		return nil
	}
	return all(ctx, r.withCredentials, r.generators, r.deprecated)
}

// withCredentials finds the GitOpsClusters of Advanced Cluster Management that put credentials into cluster Secrets.
func (r *factReader) withCredentials(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: apis.Group, Version: "v1beta1", Kind: "GitOpsClusterList"})
	return r.take(check.GitOpsClusters, pages(ctx, r, list, pageSize, func(page *unstructured.UnstructuredList) error {
		for i := range page.Items {
			g := &page.Items[i]
			blank, _, _ := unstructured.NestedBool(g.Object, "spec", "createBlankClusterSecrets")
			addOn, _, _ := unstructured.NestedBool(g.Object, "spec", "gitopsAddon", "enabled")
			if !blank && !addOn {
				r.facts.ACM.WithCredentials = append(r.facts.ACM.WithCredentials, g.GetNamespace()+"/"+g.GetName())
			}
		}
		return nil
	}))
}

// generators finds ApplicationSets with a generator ConfigMap that no ApplicationSet controller can read.
func (r *factReader) generators(ctx context.Context) error {
	there := map[string]bool{}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(applicationSetKind.GroupVersion().WithKind(applicationSetKind.Kind + "List"))
	err := pages(ctx, r, list, pageSize, func(page *unstructured.UnstructuredList) error {
		for i := range page.Items {
			spec, err := json.Marshal(page.Items[i].Object["spec"])
			if err != nil {
				return err
			}
			for _, name := range generator.ConfigMaps(spec) {
				if err := r.found(ctx, name, there); err != nil {
					return err
				}
				if !there[name] {
					set := page.Items[i].GetNamespace() + "/" + page.Items[i].GetName()
					r.facts.ACM.Generators = append(r.facts.ACM.Generators, check.Generator{Set: set, ConfigMap: name})
				}
			}
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		r.facts.ACM.Generators = nil
		return nil
	}
	return err
}

// found notes whether the ConfigMap exists in a namespace of an ApplicationSet controller.
func (r *factReader) found(ctx context.Context, name string, there map[string]bool) error {
	if _, known := there[name]; known {
		return nil
	}
	namespaces := r.facts.SetNamespaces()
	there[name] = len(namespaces) == 0 // no ApplicationSet controller reads the ConfigMap
	for _, ns := range namespaces {
		m, err := reading.Get(ctx, r, types.NamespacedName{Namespace: ns, Name: name}, &corev1.ConfigMap{})
		if err != nil {
			return err
		}
		there[name] = there[name] || m != nil
	}
	return nil
}

// deprecated reads whether the product of the CRD of reports will remove the CRD.
func (r *factReader) deprecated(ctx context.Context) error {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := r.Get(ctx, types.NamespacedName{Name: check.ReportCRD}, crd); err != nil {
		return r.take(check.CRDs, err)
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		is, _ := version["deprecated"].(bool)
		r.facts.ACM.Deprecated = r.facts.ACM.Deprecated || is
	}
	return err
}
