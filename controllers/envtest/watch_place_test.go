package envtest_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestOneNewWorkWatches: if the Applications of a cluster's namespace arrive at the same time, a single new work lets the work
// agent watch the namespace. No further work asks for the watch first, and withdraws later with a second write.
func TestOneNewWorkWatches(t *testing.T) {
	c := cluster(t)
	const applications = 30
	apps := namespace(t, unique("apps"))
	for i := range applications {
		create(t, fixture.Application(fmt.Sprintf("app-%d", i)).Namespace(apps).Cluster(c.Name).Obj())
	}
	watcher, err := client.NewWithWatch(hub, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	works, err := watcher.Watch(t.Context(), &workv1.ManifestWorkList{}, client.InNamespace(c.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer works.Stop()
	start(t)
	watching, created := 0, 0
	for late := time.After(soon); created < applications; {
		select {
		case e, open := <-works.ResultChan():
			w, is := e.Object.(*workv1.ManifestWork)
			if !open || !is {
				t.Fatalf("the watch has ended: %v", e.Object)
			}
			if e.Type != watch.Added {
				continue
			}
			if created++; work.Watches(w) != "" {
				watching++
			}
		case <-late:
			t.Fatalf("%d of %d works exist", created, applications)
		}
	}
	if watching != 1 {
		t.Errorf("%d of %d new works ask for the watch, want 1", watching, created)
	}
}
