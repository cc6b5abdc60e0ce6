package aggregation

import (
	_ "embed"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers/internal/crd"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// Kinds are the kinds required on the hub.
var Kinds = []apischema.GroupVersionKind{v1alpha1.GroupVersion.WithKind("MulticlusterApplicationSetReport")}

// manifest is the CRD of reports. `make manifests` copies the file from deploy/crds.
//
//go:embed crd.yaml
var manifest []byte

// BringCRD lets Towline create the CRD of reports if the hub lacks the CRD, because Advanced Cluster Management will
// remove its own CRD.
func BringCRD(mgr ctrl.Manager) error {
	bringer := &crd.Bringer{
		Manifest: manifest,
		Missing: func(missing bool) {
			crdMissing.Set(0)
			if missing {
				crdMissing.Set(1)
			}
		},
		Remedy: "run helm upgrade, or apply deploy/crds/apps.open-cluster-management.io_multiclusterapplicationsetreports.yaml",
	}
	return bringer.Add(mgr)
}
