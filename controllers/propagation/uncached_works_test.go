package propagation

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestWorkFromBeforeAMove: the leader notes the work of an Application from before a move.
func TestWorkFromBeforeAMove(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	for title, tc := range map[string]struct {
		from, to string
		waits    bool
		want     bool
	}{
		"moved":                              {from: "cluster1", to: "cluster2", want: true},
		"moved to no cluster":                {from: "cluster1", want: true},
		"moved, on a standby replica":        {from: "cluster1", to: "cluster2", waits: true},
		"changed otherwise":                  {from: "cluster1", to: "cluster1"},
		"moved from an invalid cluster name": {from: "cluster_1", to: "cluster2"},
		"moved from no cluster":              {to: "cluster2"},
	} {
		t.Run(title, func(t *testing.T) {
			before, after := app.DeepCopy(), app.DeepCopy()
			before.Annotations[apis.AnnotationCluster], after.Annotations[apis.AnnotationCluster] = tc.from, tc.to
			var m uncachedWorks
			if !m.watched(func() bool { return tc.waits }).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
				t.Error("nothing else hears of the change")
			}
			got := m.of(client.ObjectKeyFromObject(app))
			if (len(got) > 0) != tc.want || tc.want && got[0] != work.Key(before) {
				t.Errorf("remembers %v", got)
			}
		})
	}
}
