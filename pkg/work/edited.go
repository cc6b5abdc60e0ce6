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

// EditSeen describes the edits of a work's Application on the cluster. The zero value means no edits.
type EditSeen struct {
	// Count is the number of edits in succession.
	Count int

	// Mark is the mark of the last edit; see feedback.Observation.
	Mark string

	// At is the time when Towline had the edit reverted.
	At time.Time
}

var editSeen = regexp.MustCompile(`^([0-9]{1,2})_([0-9]{1,12})_([0-9TZ.-]{1,40})$`)

// EditSeenBy returns the edits in the label of a work.
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

// SetEditSeen stores an edit in a label of the work. The work agent (v1.2.0) applies a work at once after a change of
// its labels.
func SetEditSeen(w *workv1.ManifestWork, e EditSeen) {
	metav1.SetMetaDataLabel(&w.ObjectMeta, apis.LabelEditSeen, fmt.Sprintf("%d_%d_%s", min(e.Count, maxEdits), e.At.Unix(), e.Mark))
}

// SetsBack reports whether each apply of the work reverts edits on the cluster, by force if the mode permits.
func SetsBack(w *workv1.ManifestWork) bool {
	mode := UpdateModeOf(w)
	if CarriesRequest(w) || mode != ForceApply && mode != Apply {
		return false
	}
	s := configOf(w).UpdateStrategy
	return s != nil && s.ServerSideApply != nil && len(s.ServerSideApply.IgnoreFields) == 0
}
