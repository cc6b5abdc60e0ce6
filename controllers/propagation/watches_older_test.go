package propagation

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestWorkOfAnOlderControllerIsKnown: a new leader reconciles an Application with nothing but an unlabelled work.
func TestWorkOfAnOlderControllerIsKnown(t *testing.T) {
	w := fixture.OlderWork(fixture.Application("guestbook").ApplicationSet("set").Obj(), false)
	delete(w.Labels, apis.LabelPull)
	r := &Reconciler{}
	app, is := NoteOlder(r, w)
	if !is || app == (types.NamespacedName{}) {
		t.Fatalf("%v is not noted", w)
	}
	if !r.known(reconcile.Request{NamespacedName: app}) {
		t.Error("nobody looks at it")
	}
}
