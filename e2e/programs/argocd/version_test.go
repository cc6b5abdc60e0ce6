package argocd

import (
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/argo"
)

// This file holds the parts for Argo CD 2.14. The tests in all further files also apply to Argo CD 3: `make generate`
// copies them to fleet/argocd.

// methods are the tracking methods of a cluster's Argo CD; empty for the default.
var methods = []v1alpha1.TrackingMethod{"", argo.TrackingMethodLabel, argo.TrackingMethodAnnotation, trackingMethodBoth}

const trackingMethodBoth = argo.TrackingMethodAnnotationAndLabel

// moreKeys are keys of only some versions, by Towline's names.
var moreKeys = map[string]string{}

func destinationPermitted(p v1alpha1.AppProject, to v1alpha1.ApplicationDestination) (bool, error) {
	return p.IsDestinationPermitted(to, nil)
}
