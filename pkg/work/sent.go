package work

import (
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/relay"
)

// Sent returns the requests stored in the annotations of a work.
func Sent(w *workv1.ManifestWork) Requests {
	at, uncompared := strings.CutPrefix(w.Annotations[apis.AnnotationChangedAt], apis.ChangedUncompared)
	at = strings.TrimSpace(at)
	return Requests{
		Refresh:   relay.ParseRefresh(w.Annotations[apis.AnnotationRefreshSent]),
		Last:      relay.ParseSent(w.Annotations[apis.AnnotationRequestSent]),
		ChangedAt: at, Uncompared: uncompared,
	}
}
