package propagation

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

func versioned(name, version string) *argocd.Application {
	app := &argocd.Application{}
	app.Namespace, app.Name, app.ResourceVersion = "x", name, version
	return app
}

// TestAnEndThatWasToldOfIsNoLoss, and everything else may be one, until the Application is there.
func TestAnEndThatWasToldOfIsNoLoss(t *testing.T) {
	var m losses
	watched, now := m.watched(), time.Now()
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "x", Name: name} }
	watched.Delete(event.DeleteEvent{Object: versioned("told", "1")})
	watched.Delete(event.DeleteEvent{Object: versioned("seen-missing", "1"), DeleteStateUnknown: true})
	if since, _, _ := m.find(key("told"), now); !since.IsZero() {
		t.Error("an end that the hub told of counts as a loss")
	}
	if since, count, _ := m.find(key("seen-missing"), now); !since.Equal(now) || count != 1 {
		t.Errorf("got %v, %d", since, count)
	}
	if since, count, _ := m.find(key("never-seen"), now.Add(time.Second)); !since.Equal(now.Add(time.Second)) || count != 2 {
		t.Errorf("got %v, %d", since, count)
	}
	if since, _, _ := m.find(key("seen-missing"), now.Add(time.Minute)); !since.Equal(now) {
		t.Errorf("it is missing since %v", since)
	}
	watched.Create(event.CreateEvent{Object: versioned("seen-missing", "2")})
	m.forget(key("told"))
	if _, count, _ := m.find(key("told"), now); count != 2 {
		t.Errorf("%d are missing", count)
	}
}

// TestAVersionThatGoesBack is a hub that was restored.
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
		var m losses
		m.watched().Update(event.UpdateEvent{ObjectOld: versioned("a", tc.before), ObjectNew: versioned("a", tc.after)})
		if _, _, restored := m.find(types.NamespacedName{Name: "b"}, time.Now()); restored != tc.want {
			t.Errorf("%s: %t", title, restored)
		}
	}
}
