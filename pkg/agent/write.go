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

// fieldOwner is the field manager of the agent's writes on the hub's API server.
const fieldOwner = "towline-agent"

// reportKind is the kind of the agent's reports.
var reportKind = v1alpha1.GroupVersion.WithKind("ApplicationReport")

// reportMetadata returns an empty report for reading only the metadata. The metadata of other reports contains all
// information that the agent needs.
func reportMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(reportKind)
	return m
}

// write applies the whole report in a single request, and creates the report if necessary. The hub sets the owner of
// the report.
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
