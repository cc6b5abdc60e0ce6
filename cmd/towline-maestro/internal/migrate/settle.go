package migrate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Hash is how an agent (v1.2.0) names its source in its records: by the server of the hub's kubeconfig, the broker's host and port, or the
// URL of a gRPC server, as its configuration has them.
func Hash(source string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(source))) }

// Records are what an agent has on its cluster of its present source, by UID, and of its earlier ones.
type Records struct {
	Present map[types.UID]bool
	Earlier []*workv1.AppliedManifestWork
}

// Superseded sorts the records of a cluster by the agent's present source. Records of other agents, as of a second hub, are left out. A
// work's record need not have the same name there as before: in Maestro a work may have several bundles.
func Superseded(records []workv1.AppliedManifestWork, hash string) Records {
	out, agents := Records{Present: map[types.UID]bool{}}, map[string]bool{}
	for i := range records {
		if r := &records[i]; r.Spec.HubHash == hash {
			agents[r.Spec.AgentID] = true
			out.Present[r.UID] = r.DeletionTimestamp.IsZero()
		}
	}
	for i := range records {
		if r := &records[i]; r.Spec.HubHash != hash && agents[r.Spec.AgentID] {
			out.Earlier = append(out.Earlier, r)
		}
	}
	return out
}

// Settle removes the records of the earlier sources of a cluster's agent, where the present records own the same objects: the agent
// deletes with a record what nobody else owns.
func Settle(ctx context.Context, config *rest.Config, source string, o Options) error {
	works, err := workclient.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	records, err := works.WorkV1().AppliedManifestWorks().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the records of the cluster's agent: %w", err)
	}
	found := Superseded(records.Items, Hash(source))
	if len(found.Present) == 0 {
		return fmt.Errorf("the cluster has no AppliedManifestWork of the source %q: the agent has applied nothing from there, or its configuration "+
			"names it in another way", source)
	}
	var steps []Step
	for _, r := range found.Earlier {
		step := Step{Verb: Remove, To: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: r.Name, UID: r.UID}}}
		if err := owned(ctx, objects, r, found.Present); err != nil {
			step.Verb, step.Why = Wait, err.Error()
		}
		steps = append(steps, step)
	}
	return o.carryOut(ctx, steps, func(ctx context.Context, s Step) error {
		only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(s.To.UID)}}
		err := works.WorkV1().AppliedManifestWorks().Delete(ctx, s.To.Name, only)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// owned is an error unless each object that a record owns has an owner among the present ones.
func owned(ctx context.Context, objects metadata.Interface, record *workv1.AppliedManifestWork, present map[types.UID]bool) error {
	for _, r := range record.Status.AppliedResources {
		kind := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
		object, err := objects.Resource(kind).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if destroys(object.OwnerReferences, record.UID, present) {
			return fmt.Errorf("%s %s/%s would go with this record: no work that the agent has applied from its present source owns it",
				r.Resource, r.Namespace, r.Name)
		}
	}
	return nil
}

// destroys tells whether an object has a record among its owners, and no present record.
func destroys(owners []metav1.OwnerReference, record types.UID, present map[types.UID]bool) bool {
	return slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return r.UID == record }) &&
		!slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return present[r.UID] })
}
