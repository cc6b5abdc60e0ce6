package loop

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

func TestSparing(t *testing.T) {
	const n = 5 * burst
	fake := events.NewFakeRecorder(3 * n)
	recorder := LimitEvents(fake)
	for range n {
		recorder.Eventf(&corev1.Pod{}, nil, corev1.EventTypeNormal, "Propagated", "Propagate", "made %d", 1)
		recorder.Eventf(&corev1.Pod{}, nil, corev1.EventTypeWarning, "ClusterNotFound", "Propagate", "no")
	}
	close(fake.Events)
	got := map[string]int{}
	for e := range fake.Events {
		got[e]++
	}
	if warnings := got["Warning ClusterNotFound no"]; warnings != n {
		t.Errorf("%d of %d warnings", warnings, n)
	}
	if normal := got["Normal Propagated made 1"]; normal < burst || normal > 2*burst {
		t.Errorf("%d normal events of %d at once", normal, n)
	}
}
