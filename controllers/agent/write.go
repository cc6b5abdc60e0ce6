package agent

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// fieldOwner is the name under which the hub's API server knows what the agent writes.
const fieldOwner = "towline-agent"

// reportKind is the kind that the agent writes.
var reportKind = v1alpha1.GroupVersion.WithKind("ApplicationReport")

// reportMetadata is a report of which only the metadata is read: all others have in it what the agent needs to know.
func reportMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(reportKind)
	return m
}

// write applies the report as a whole in one request, whether the hub has one or not.
func (r *Reconciler) write(ctx context.Context, name string, owner types.UID, digest string, report *v1alpha1.ApplicationReport) error {
	report.SetGroupVersionKind(reportKind)
	report.Namespace, report.Name = r.Namespace, name
	report.Annotations = map[string]string{apis.AnnotationDigest: digest}
	report.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork", Name: name, UID: owner,
	}}
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	target := reportMetadata()
	target.Namespace, target.Name = r.Namespace, name
	err = r.Hub.Patch(ctx, target, client.RawPatch(types.ApplyPatchType, data), client.ForceOwnership, client.FieldOwner(fieldOwner))
	if err != nil {
		return err
	}
	reportWrites.Inc()
	return nil
}
