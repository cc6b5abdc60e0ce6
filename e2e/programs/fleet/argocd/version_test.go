package argocd

import (
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// This file holds the parts for Argo CD 3. The tests in all further files come from the tests for Argo CD 2.14: `make
// generate` copies them to fleet/argocd.

// methods are the tracking methods of a cluster's Argo CD; empty for the default.
var methods = []v1alpha1.TrackingMethod{
	"", v1alpha1.TrackingMethodLabel, v1alpha1.TrackingMethodAnnotation, trackingMethodBoth,
}

const trackingMethodBoth = v1alpha1.TrackingMethodAnnotationAndLabel

// moreKeys are keys of only some versions, by Towline's names.
var moreKeys = map[string]string{
	"FinalizerPreDelete": v1alpha1.PreDeleteFinalizerName,
}

func destinationPermitted(p v1alpha1.AppProject, to v1alpha1.ApplicationDestination) (bool, error) {
	cluster := &v1alpha1.Cluster{Server: to.Server, Name: to.Name}
	return p.IsDestinationPermitted(cluster, to.Namespace, nil)
}
