package argocd

import (
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/argo"
)

// What follows is Argo CD's of this version. The other tests are those of the next version too: `make generate` takes
// them there.

// methods are the ways in which an Argo CD of a cluster may track what it deployed: empty for its default.
var methods = []v1alpha1.TrackingMethod{"", argo.TrackingMethodLabel, argo.TrackingMethodAnnotation, trackingMethodBoth}

const trackingMethodBoth = argo.TrackingMethodAnnotationAndLabel

// moreKeys are keys that another version does not have, by our names for them.
var moreKeys = map[string]string{}

func destinationPermitted(p v1alpha1.AppProject, to v1alpha1.ApplicationDestination) (bool, error) {
	return p.IsDestinationPermitted(to, nil)
}
