package placement_test

import (
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/placement"
)

// TestASecondWriterOfTheCluster: if another client keeps writing the annotation, Towline moves the Application less and
// less often.
func TestASecondWriterOfTheCluster(t *testing.T) {
	app := fixture.Application("best").Namespace("argocd").Cluster("theirs").Annotation(apis.AnnotationPlacement, "best").Obj()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b placement.Brake
	moves := func(cluster string, d time.Duration) (n int) {
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			plan, again := b.Apply(placement.Plan{Cluster: cluster}, app, now)
			if plan.Cluster != "" {
				n++
				b = b.Wrote(plan.Cluster, now)
			} else if again <= 0 || !strings.Contains(plan.Warning, "another client keeps changing") {
				t.Fatalf("it waits without a word or an end: %+v, %s", plan, again)
			}
		}
		return n
	}
	if n := moves("a", time.Minute); n < 4 || n > 7 {
		t.Errorf("%d writes in the first minute", n)
	}
	moves("a", 2*time.Hour)
	if n := moves("a", 2*time.Hour); n > 12 {
		t.Errorf("%d writes in two hours", n)
	}
	if plan, _ := b.Apply(placement.Plan{Cluster: "b"}, app, now); plan.Cluster != "b" || plan.Warning != "" {
		t.Errorf("a new choice is held: %+v", plan)
	}
	right := fixture.Application("best").Namespace("argocd").Cluster("a").Annotation(apis.AnnotationPlacement, "best").Obj()
	if plan, again := b.Apply(placement.Plan{}, right, now); plan.Warning == "" || again <= 0 {
		t.Errorf("its end is not waited for: %+v, %s", plan, again)
	}
	if plan, again := b.Apply(placement.Plan{}, app, now); plan.Warning != "" || again != 0 {
		t.Errorf("the Placement chooses what the other has written, and it says %+v, %s", plan, again)
	}
	if plan, again := b.Apply(placement.Plan{}, app, now.Add(time.Hour)); plan.Warning != "" || again != 0 {
		t.Errorf("it is over, and says %+v, %s", plan, again)
	}
	if plan, _ := b.Apply(placement.Plan{Warning: "x"}, app, now); plan.Warning != "x" {
		t.Errorf("it says %+v", plan)
	}
}

// TestAPlacementWithNewChoices: the Application follows each new choice of the Placement.
func TestAPlacementWithNewChoices(t *testing.T) {
	app := fixture.Application("best").Namespace("argocd").Cluster("a").Annotation(apis.AnnotationPlacement, "best").Obj()
	var b placement.Brake
	for i := range 20 {
		now := time.Unix(int64(i), 0)
		plan, _ := b.Apply(placement.Plan{Cluster: []string{"a", "b"}[i%2]}, app, now)
		if plan.Cluster == "" || plan.Warning != "" {
			t.Fatalf("the change no. %d is held: %+v", i, plan)
		}
		b = b.Wrote(plan.Cluster, now)
	}
}
