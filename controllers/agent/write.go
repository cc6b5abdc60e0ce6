package agent

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// write applies the report as a whole in one request, whether the hub has one or not. Its owner is set by the hub.
func (r *Reconciler) write(ctx context.Context, name, digest string, report *v1alpha1.ApplicationReport) error {
	report.SetGroupVersionKind(reportKind)
	report.Namespace, report.Name = r.Namespace, name
	report.Annotations = map[string]string{apis.AnnotationDigest: digest}
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
