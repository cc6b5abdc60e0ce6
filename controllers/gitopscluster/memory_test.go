package gitopscluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/clusterimport"
)

// TestDropped: the grace period begins again after a new choice of the cluster, and finished notes are dropped.
func TestDropped(t *testing.T) {
	var d dropped
	g, start := types.NamespacedName{Namespace: "argocd", Name: "g"}, time.Now()
	expect := func(after time.Duration, want map[string]time.Duration) {
		t.Helper()
		var clusters []string
		since := map[string]time.Time{}
		for cluster, at := range want {
			clusters, since[cluster] = append(clusters, cluster), start.Add(at)
		}
		if diff := cmp.Diff(since, d.note(g, clusters, start.Add(after))); diff != "" {
			t.Error(diff)
		}
	}
	expect(0, map[string]time.Duration{"a": 0})
	expect(40, map[string]time.Duration{"a": 0, "b": 40})
	expect(70, map[string]time.Duration{"b": 40}) // the cluster a was chosen again
	expect(80, map[string]time.Duration{"a": 80, "b": 40})
	expect(90, nil)
	if len(d.since) != 0 {
		t.Errorf("remembered: %v", d.since)
	}
	expect(100, map[string]time.Duration{"a": 100})
}

func TestWaiting(t *testing.T) {
	x, y := types.NamespacedName{Name: "x"}, types.NamespacedName{Name: "y"}
	var w waiting
	w.add(x, []string{"a", "b"})
	w.add(y, []string{"a"})
	w.set(x, []string{"b"})
	if diff := cmp.Diff([]types.NamespacedName{y}, w.of("a")); diff != "" {
		t.Error(diff)
	}
	w.set(x, nil)
	w.set(y, nil)
	if len(w.all) > 0 {
		t.Errorf("remembered for nothing: %v", w.all)
	}
}

// TestPushersForgetsDeletedObjects: the memory forgets a deleted Secret, a Secret that is wanted again, and a deleted
// GitOpsCluster.
func TestPushersForgetsDeletedObjects(t *testing.T) {
	r := &Reconciler{}
	one, two, app := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}, types.NamespacedName{Name: "web"}
	a, b, c := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}, types.NamespacedName{Name: "c"}
	user := &clusterimport.User{Application: app, Pushed: true}
	r.pushers.set(one, map[types.NamespacedName]*clusterimport.User{a: user, b: user})
	r.pushers.set(two, map[types.NamespacedName]*clusterimport.User{a: user, b: nil, c: {Application: app}})
	r.pushers.set(one, map[types.NamespacedName]*clusterimport.User{b: user})
	for key, want := range map[types.NamespacedName]map[types.NamespacedName]bool{one: {b: true}, two: {a: true}} {
		for _, secret := range []types.NamespacedName{a, b, c} {
			if _, known := r.pushers.last(key, secret); known != want[secret] {
				t.Errorf("%s of %s: known %t", secret.Name, key.Name, known)
			}
		}
	}
	r.forget(two)
	r.remember(one, nil)
	if len(r.pushers.all) > 0 {
		t.Errorf("remembered for nothing: %v", r.pushers.all)
	}
}

// TestEndUnasked: a watch of tokens ends with the last GitOpsCluster for these tokens. All remaining watches
// stay.
func TestEndUnasked(t *testing.T) {
	ended := map[scope]int{}
	s := &scopes{opened: map[scope]openCache{}}
	for _, which := range []scope{
		tokenSecretsOf("asked"), tokenSecretsOf("unasked"), clusterSecretsIn("argocd"), configIn("argocd", "unasked"),
	} {
		s.opened[which] = openCache{end: func() { ended[which]++ }}
	}
	for range 2 {
		s.endUnasked(func(account string) bool { return account == "asked" })
	}
	if diff := cmp.Diff(map[scope]int{tokenSecretsOf("unasked"): 1}, ended, cmp.AllowUnexported(scope{})); diff != "" {
		t.Error(diff)
	}
	if _, is := s.opened[tokenSecretsOf("unasked")]; is || len(s.opened) != 3 {
		t.Errorf("%d are open", len(s.opened))
	}
}
