package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
)

// steerSet returns which changes of an Application the ApplicationSet keeps.
func (h *hub) steerSet(ctx context.Context, key types.NamespacedName, app string) (*steer.Set, error) {
	out := &steer.Set{Namespace: key.Namespace, Name: key.Name}
	s, err := reading.Get(ctx, h, key, newApplicationSet())
	switch {
	case apierrors.IsForbidden(err):
		out.Unread = true
		return out, nil
	case err != nil:
		return nil, err
	case s == nil || s.GetDeletionTimestamp() != nil:
		out.Gone = true
		return out, nil
	}
	policy, _, _ := unstructured.NestedString(s.Object, "spec", "syncPolicy", "applicationsSync")
	out.CreateOnly = policy == "create-only" || policy == "create-delete"
	out.Preserved, _, _ = unstructured.NestedStringSlice(s.Object, "spec", "preservedFields", "annotations")
	templated, _, _ := unstructured.NestedMap(s.Object, "spec", "template", "metadata", "annotations")
	out.Templated = slices.Sorted(maps.Keys(templated))
	ignored, _, _ := unstructured.NestedSlice(s.Object, "spec", "ignoreApplicationDifferences")
	for _, item := range ignored {
		rule, _ := item.(map[string]any)
		if name, _, _ := unstructured.NestedString(rule, "name"); name == "" || name == app {
			pointers, _, _ := unstructured.NestedStringSlice(rule, "jsonPointers")
			out.Ignored = append(out.Ignored, pointers...)
		}
	}
	return out, nil
}

// pauseOther pauses or resumes all Applications of a cluster or of an ApplicationSet.
func (o *verbOptions) pauseOther(ctx context.Context, h *hub, namespace string) error {
	obj, kind := client.Object(newApplicationSet()), "applicationsets.argoproj.io"
	key := types.NamespacedName{Namespace: namespace, Name: o.set}
	object := kind + "/" + key.String()
	if o.cluster != "" {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		obj, key = m, types.NamespacedName{Name: o.cluster}
		object = "namespaces/" + o.cluster
	}
	missing := o.noCluster(ctx, h)
	var c *steer.Change
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if missing && o.request.Verb == steer.Pause { // the namespace of a former cluster can still be resumed
			return &steer.Refusal{Message: "ManagedCluster " + o.cluster + " does not exist and cannot be paused", Do: "kubectl get managedclusters"}
		}
		if err := h.Get(ctx, key, obj); err != nil {
			return noSuch(object, err)
		}
		c = steer.PauseOther(obj.GetAnnotations(), string(obj.GetUID()), obj.GetResourceVersion(), o.request.Verb == steer.Pause)
		if c.Patch == nil {
			return nil
		}
		_, err := o.write(ctx, h, obj, c)
		return err
	})
	r := failed(object, err)
	if err == nil {
		r = o.wrote(outcome{Object: object, State: why.OK, Message: c.Message, Patch: c.Patch})
	}
	if err == nil && missing {
		r.Note = "the hub has no ManagedCluster " + o.cluster
	}
	if err := o.printOutcome(r); err != nil {
		return err
	}
	return o.finish([]outcome{r})
}

// noSuch returns a short error for a missing object.
func noSuch(object string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s does not exist", object)
	}
	return err
}

// noCluster reports whether --cluster names a missing ManagedCluster. If the user may not read the ManagedCluster,
// Towline decides.
func (o *verbOptions) noCluster(ctx context.Context, h *hub) bool {
	if o.cluster == "" {
		return false
	}
	c, err := reading.Get(ctx, h, types.NamespacedName{Name: o.cluster}, &clusterv1.ManagedCluster{})
	return err == nil && c == nil
}
