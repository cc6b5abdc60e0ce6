package argocd

import (
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// What follows is Argo CD's of this version. The other tests come from the version before: `make generate` takes them
// here.

// methods are the ways in which an Argo CD of a cluster may track what it deployed: empty for its default.
var methods = []v1alpha1.TrackingMethod{
	"", v1alpha1.TrackingMethodLabel, v1alpha1.TrackingMethodAnnotation, trackingMethodBoth,
}

const trackingMethodBoth = v1alpha1.TrackingMethodAnnotationAndLabel

// moreKeys are keys that another version does not have, by our names for them.
var moreKeys = map[string]string{
	"FinalizerPreDelete": v1alpha1.PreDeleteFinalizerName,
}

func destinationPermitted(p v1alpha1.AppProject, to v1alpha1.ApplicationDestination) (bool, error) {
	cluster := &v1alpha1.Cluster{Server: to.Server, Name: to.Name}
	return p.IsDestinationPermitted(cluster, to.Namespace, nil)
}
