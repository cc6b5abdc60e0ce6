package propagation

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

func versioned(name, version string) *argocd.Application {
	app := &argocd.Application{}
	app.Namespace, app.Name, app.ResourceVersion = "x", name, version
	return app
}

func keyOf(name string) types.NamespacedName { return types.NamespacedName{Namespace: "x", Name: name} }

// missed reports n missing Applications to the detector.
func missed(m *lossDetector, gap string, n int, now time.Time) (keys []types.NamespacedName) {
	for i := range n {
		key := keyOf(fmt.Sprintf("%s-%d", gap, i))
		m.judge(key, now)
		keys = append(keys, key)
	}
	return keys
}

// TestAReportedDeletionIsNoLoss: an Application with a deletion event is not lost. A missing Application without a
// deletion event may be lost until it exists again.
func TestAReportedDeletionIsNoLoss(t *testing.T) {
	var m lossDetector
	watched, now := m.watched(), time.Now()
	watched.Delete(event.DeleteEvent{Object: versioned("told", "1")})
	watched.Delete(event.DeleteEvent{Object: versioned("seen-missing", "1"), DeleteStateUnknown: true})
	if lost, left := m.judge(keyOf("told"), now); lost || left != 0 {
		t.Errorf("an end that the hub told of counts as a loss: %t, %s", lost, left)
	}
	if lost, left := m.judge(keyOf("seen-missing"), now); lost || left != lossWindow {
		t.Errorf("got %t, %s", lost, left)
	}
	missed(&m, "never-seen", massLossThreshold, now)
	if lost, _ := m.judge(keyOf("seen-missing"), now); !lost {
		t.Error("many are missing at once")
	}
	watched.Create(event.CreateEvent{Object: versioned("seen-missing", "2")})
	if lost, left := m.judge(keyOf("seen-missing"), now); lost && left != 0 {
		t.Errorf("it was there again: %t, %s", lost, left)
	}
	m.forget(keyOf("told"))
	if len(m.deleted) != 0 {
		t.Errorf("%v are remembered for ever", m.deleted)
	}
}

// TestAReplicaThatWaitsRemembersNoMore: a waiting replica remembers only the deleted Applications of works. It forgets
// an Application when the leader removes the last work.
func TestAReplicaThatWaitsRemembersNoMore(t *testing.T) {
	spoken := map[types.NamespacedName]bool{}
	m := lossDetector{waits: func() bool { return true }, spokenOf: func(app types.NamespacedName) bool { return spoken[app] }}
	watched, works := m.watched(), m.worksWatched()
	of := func(name string) *workv1.ManifestWork {
		w := &workv1.ManifestWork{}
		w.Annotations = map[string]string{apis.AnnotationHubNamespace: "x", apis.AnnotationHubName: name}
		return w
	}
	for n := range 1000 {
		watched.Delete(event.DeleteEvent{Object: versioned(fmt.Sprint(n), "1")})
	}
	for _, name := range []string{"a", "b", "c"} {
		spoken[keyOf(name)] = true
		watched.Delete(event.DeleteEvent{Object: versioned(name, "1")})
	}
	if len(m.deleted) != 3 {
		t.Errorf("%d ends are remembered", len(m.deleted))
	}
	if lost, left := m.judge(keyOf("a"), time.Now()); lost || left != 0 {
		t.Error("an end that was told of before this replica led counts as a loss")
	}
	works.Delete(event.DeleteEvent{Object: of("a")}) // a second work still names the Application
	delete(spoken, keyOf("b"))
	works.Delete(event.DeleteEvent{Object: of("b")})
	delete(spoken, keyOf("c"))
	works.Update(event.UpdateEvent{ObjectOld: of("c"), ObjectNew: of("another")})
	if len(m.deleted) != 1 || !m.deleted[keyOf("a")] {
		t.Errorf("remembered: %v", m.deleted)
	}
}

// TestALossIsDecidedAsAWhole: a decision about some missing Applications does not make the remaining ones count as few.
func TestALossIsDecidedAsAWhole(t *testing.T) {
	var m lossDetector
	now := time.Now()
	for _, key := range missed(&m, "gap", massLossThreshold+2, now) {
		if lost, left := m.judge(key, now.Add(lossWindow)); !lost || left != 0 {
			t.Errorf("%s: %t, %s", key, lost, left)
		}
	}
}

// TestDecidedApplicationsDoNotCount: decided Applications do not count when further Applications are missing later.
// Each group of decided Applications was held in this run, held before this run, or taken for few.
func TestDecidedApplicationsDoNotCount(t *testing.T) {
	for title, before := range map[string]func(*lossDetector, time.Time){
		"held before this run": func(m *lossDetector, _ time.Time) {
			for i := range 2 * massLossThreshold {
				m.stillLost(keyOf(fmt.Sprint(i)))
			}
		},
		"held in this run": func(m *lossDetector, now time.Time) {
			for _, key := range missed(m, "lost", 2*massLossThreshold, now) {
				m.judge(key, now)
			}
		},
		"few, twice": func(m *lossDetector, now time.Time) {
			for _, gap := range []string{"first", "second"} {
				for _, key := range missed(m, gap, massLossThreshold, now) {
					if lost, left := m.judge(key, now.Add(lossWindow)); lost || left != 0 {
						t.Errorf("%s: %t, %s", key, lost, left)
					}
				}
			}
		},
	} {
		t.Run(title, func(t *testing.T) {
			var m lossDetector
			now := time.Now()
			before(&m, now)
			m.judge(keyOf("one"), now)
			if lost, left := m.judge(keyOf("one"), now.Add(lossWindow)); lost || left != 0 {
				t.Errorf("a single one is taken for lost: %t, %s", lost, left)
			}
		})
	}
}

// TestAHeldApplicationThatCameBack: a held Application is not held any more after it came back and the watch reported
// its deletion.
func TestAHeldApplicationThatCameBack(t *testing.T) {
	var m lossDetector
	if !m.stillLost(keyOf("a")) {
		t.Fatal("nothing was told of")
	}
	m.watched().Create(event.CreateEvent{Object: versioned("a", "1")})
	m.watched().Delete(event.DeleteEvent{Object: versioned("a", "1")})
	if lost, left := m.judge(keyOf("a"), time.Now()); m.stillLost(keyOf("a")) || lost || left != 0 {
		t.Error("it is held for ever")
	}
}

// TestAVersionThatGoesBack: a lower resource version counts as a restored hub.
func TestAVersionThatGoesBack(t *testing.T) {
	for title, tc := range map[string]struct {
		before, after string
		want          bool
	}{
		"on":        {"9", "10", false},
		"the same":  {"9", "9", false},
		"back":      {"10", "9", true},
		"no number": {"b", "a", false},
		"none":      {"", "", false},
	} {
		var m lossDetector
		m.watched().Update(event.UpdateEvent{ObjectOld: versioned("a", tc.before), ObjectNew: versioned("a", tc.after)})
		if lost, _ := m.judge(keyOf("b"), time.Now()); lost != tc.want {
			t.Errorf("%s: %t", title, lost)
		}
	}
}

// TestAKeptWorkStaysKept: a work that was kept after a loss stays kept, in any order of the works of the Application. The
// cache did not show the mark of the work at first, and the time to look for further losses is over.
func TestAKeptWorkStaysKept(t *testing.T) {
	kept, other := &workv1.ManifestWork{}, &workv1.ManifestWork{}
	kept.Annotations = map[string]string{apis.AnnotationOrphanedAt: "2026-11-22T12:16:37Z"}
	for title, works := range map[string][]*workv1.ManifestWork{"the kept work first": {kept, other}, "the kept work last": {other, kept}} {
		t.Run(title, func(t *testing.T) {
			r, seen := &Reconciler{}, &observation{}
			seen.Key, seen.Now, seen.Others = keyOf("app"), time.Now(), []*workv1.ManifestWork{other, other}
			if err := r.observeLoss(t.Context(), seen); err != nil || seen.Loss.Lost || seen.Loss.Remaining != lossWindow {
				t.Fatalf("%v, %+v", err, seen.Loss)
			}
			seen.Now, seen.Others = seen.Now.Add(lossWindow), works
			if err := r.observeLoss(t.Context(), seen); err != nil || !seen.Loss.Lost || seen.Loss.Remaining != 0 {
				t.Errorf("the Application counts as deleted: %v, %+v", err, seen.Loss)
			}
		})
	}
}
