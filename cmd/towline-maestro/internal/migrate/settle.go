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

// Hash returns the name of an agent's source in the agent's records (agent v1.2.0): a SHA-256 sum in hex. The source is
// the server in the hub's kubeconfig, the host and port of the broker, or the URL of a gRPC server, as written in the
// agent's configuration.
func Hash(source string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(source))) }

// Records are the AppliedManifestWorks of an agent on a cluster. Present has the UIDs of the records of the present
// source, with false for a record in deletion. Earlier has the records of earlier sources.
type Records struct {
	Present map[types.UID]bool
	Earlier []*workv1.AppliedManifestWork
}

// Superseded divides the records of a cluster into the records of the agent's present source and of earlier sources.
// The records of different agents, for example of a second hub, are left out. The record of a work may have a new name
// in the new source, because a work may have several bundles in Maestro.
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

// Settle removes the records of the earlier sources of a cluster's agent, if the present records own the same objects.
// The agent deletes with a record all objects without a further owner. Settle returns an error if the cluster has no
// record of the source.
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
		return fmt.Errorf("the cluster has no AppliedManifestWork of the source %q: the agent has applied no work of this source, or the agent's "+
			"configuration spells the source differently", source)
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

// owned returns an error unless each object of a record has an owner among the present records. An object without the
// record as an owner does not count.
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
			return fmt.Errorf("%s %s/%s would be deleted with this record: no work from the agent's present source owns the object",
				r.Resource, r.Namespace, r.Name)
		}
	}
	return nil
}

// destroys tells whether the owners of an object include the record, but no present record.
func destroys(owners []metav1.OwnerReference, record types.UID, present map[types.UID]bool) bool {
	return slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return r.UID == record }) &&
		!slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return present[r.UID] })
}
