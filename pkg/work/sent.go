package work

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/relay"
)

// Sent are the requests that a work remembers.
func Sent(w *workv1.ManifestWork) Requests {
	return Requests{
		Refresh: relay.ParseRefresh(w.Annotations[apis.AnnotationRefreshSent]),
		Last:    relay.ParseSent(w.Annotations[apis.AnnotationRequestSent]),
	}
}
