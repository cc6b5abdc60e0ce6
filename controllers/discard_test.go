package controllers_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// discard takes what a test made away, whatever holds it: the controllers of every later test would work on it. A
// namespace, of which an API server alone makes no end, is emptied of what controllers look at.
func discard(t *testing.T, obj client.Object) {
	t.Helper()
	if _, is := obj.(*corev1.Namespace); !is {
		end(t, obj)
		return
	}
	ctx, in := context.WithoutCancel(t.Context()), client.InNamespace(obj.GetName())
	for kind, list := range map[client.Object]client.ObjectList{
		&argocd.Application{}:                        &argocd.ApplicationList{},
		&workv1.ManifestWork{}:                       &workv1.ManifestWorkList{},
		&v1alpha1.ApplicationReport{}:                &v1alpha1.ApplicationReportList{},
		&v1alpha1.MulticlusterApplicationSetReport{}: &v1alpha1.MulticlusterApplicationSetReportList{},
	} {
		err := k8s.DeleteAllOf(ctx, kind, in)
		if err == nil {
			err = k8s.List(ctx, list, in)
		}
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				end(t, item.(client.Object))
				return nil
			})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// end deletes an object without its finalizers, and waits until it is gone.
func end(t *testing.T, obj client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	bare := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	NewWithT(t).Eventually(func() error {
		now := obj.DeepCopyObject().(client.Object)
		err := k8s.Delete(ctx, now)
		if err == nil {
			err = k8s.Patch(ctx, now, bare)
		}
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	}, soon, tick).Should(Succeed(), "%T %s/%s", obj, obj.GetNamespace(), obj.GetName())
}
