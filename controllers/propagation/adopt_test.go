package propagation

import (
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestForgedWork: a cluster can mark a work that has no rules as an Application's.
func TestForgedWork(t *testing.T) {
	forged := &workv1.ManifestWork{}
	if workChanged().Update(event.UpdateEvent{ObjectOld: forged, ObjectNew: forged}) {
		t.Error("nothing has changed")
	}
	if why := refused(forged); why != "" || missing(forged) {
		t.Errorf("it says that it is refused: %q", why)
	}
}
