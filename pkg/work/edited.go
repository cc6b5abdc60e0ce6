package work

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// maxEdits is the largest number of edits that LabelEditSeen counts.
const maxEdits = 99

// EditSeen is what a work remembers of edits of its Application on the cluster. The zero value is for none.
type EditSeen struct {
	// Count is how many edits followed each other.
	Count int

	// Mark is that of the last one; see feedback.Observation.
	Mark string

	// At is when Towline had it set back.
	At time.Time
}

var editSeen = regexp.MustCompile(`^([0-9]{1,2})_([0-9]{1,12})_([0-9TZ.-]{1,40}_[0-9]{1,5})$`)

// EditSeenBy is what a work remembers of edits.
func EditSeenBy(w *workv1.ManifestWork) EditSeen {
	m := editSeen.FindStringSubmatch(w.Labels[apis.LabelEditSeen])
	if m == nil {
		return EditSeen{}
	}
	count, errCount := strconv.Atoi(m[1])
	at, errAt := strconv.ParseInt(m[2], 10, 64)
	if errCount != nil || errAt != nil {
		return EditSeen{}
	}
	return EditSeen{Count: count, Mark: m[3], At: time.Unix(at, 0)}
}

// SetEditSeen makes a work remember an edit. The work agent (v1.2.0) applies a work at once when a label of the work has changed.
func SetEditSeen(w *workv1.ManifestWork, e EditSeen) {
	metav1.SetMetaDataLabel(&w.ObjectMeta, apis.LabelEditSeen, fmt.Sprintf("%d_%d_%s", min(e.Count, maxEdits), e.At.Unix(), e.Mark))
}

// SetsBack tells whether applies of the work set back what somebody on the cluster has changed, by force where the work may take it.
func SetsBack(w *workv1.ManifestWork) bool {
	mode := UpdateModeOf(w)
	if CarriesRequest(w) || mode != ForceApply && mode != Apply || len(w.Spec.ManifestConfigs) == 0 {
		return false
	}
	s := w.Spec.ManifestConfigs[0].UpdateStrategy
	return s != nil && s.ServerSideApply != nil && len(s.ServerSideApply.IgnoreFields) == 0
}
