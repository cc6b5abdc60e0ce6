package propagation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// scraped returns the series of a counter, one for each line.
func scraped(t *testing.T, m *stateCounter, now time.Time) []string {
	t.Helper()
	ch := make(chan prometheus.Metric)
	go func() { defer close(ch); m.collect(ch, now) }()
	lines := []string{}
	for metric := range ch {
		var d dto.Metric
		if err := metric.Write(&d); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(metric.Desc().String(), `Desc{fqName: "`), `"`)
		values := []string{}
		for _, l := range d.GetLabel() {
			values = append(values, l.GetValue())
		}
		lines = append(lines, fmt.Sprintf("%s %s = %v", name, strings.Join(values, ","), d.GetGauge().GetValue()))
	}
	slices.Sort(lines)
	return lines
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

// TestStateMetrics: each Application counts once, ages are of the longest-waiting Application, and empty groups have no
// series.
func TestStateMetrics(t *testing.T) {
	now := time.Unix(10_000, 0)
	near := &managedcluster.Facts{Name: "near", Exists: true, Accepted: true, Since: 5}
	far := &managedcluster.Facts{Name: "far", Exists: true, Accepted: true, Unreachable: "away", Since: 4_000}
	var m stateCounter
	set := func(name string, at time.Time, s state, reason string, since time.Time, c *managedcluster.Facts) {
		m.set(named(name), at, appState{state: s, reason: reason, since: since}, c)
	}
	expect := func(at time.Time, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, scraped(t, &m, at)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	set("a", now, statePending, "", time.Time{}, near)
	set("b", now.Add(5*time.Second), statePending, "", time.Time{}, near)
	set("a", now.Add(7*time.Second), statePending, "", time.Time{}, near)
	set("c", now, stateStale, "", time.Unix(4_000, 0), far)
	later := now.Add(10 * time.Second)
	expect(later,
		"towline_application_oldest_seconds team,pending = 10", "towline_application_oldest_seconds team,stale = 6010",
		"towline_applications team,,pending = 2", "towline_applications team,,stale = 1",
		"towline_cluster_last_heard_timestamp_seconds far = 4000", "towline_cluster_last_heard_timestamp_seconds near = 10010")
	set("a", later, stateDelivered, "", time.Time{}, near)
	set("b", later, stateBlocked, "SpecInvalid", later.Add(-time.Hour), near)
	set("b", later, stateBlocked, "SpecInvalid", later, near) // a new message
	set("c", later, stateDelivered, "", time.Time{}, near)
	expect(later,
		"towline_application_oldest_seconds team,blocked = 3600",
		"towline_applications team,,delivered = 2", "towline_applications team,SpecInvalid,blocked = 1",
		"towline_cluster_last_heard_timestamp_seconds near = 10010")
	for _, name := range []string{"a", "b", "c", "never"} {
		set(name, later, "", "", time.Time{}, nil)
	}
	if got := scraped(t, &m, later); len(got) != 0 {
		t.Errorf("nothing is left, and it tells of %v", got)
	}
	if len(m.apps)+len(m.counts)+len(m.clusters) != 0 {
		t.Errorf("it remembers %v, %v and %v", m.apps, m.counts, m.clusters)
	}
}

// TestTimesOfClusters checks the limits of the last time, because a cluster can write any time into the condition.
func TestTimesOfClusters(t *testing.T) {
	now := time.Unix(1_000, 0)
	for since, want := range map[int64]float64{0: 0, -5: 0, 900: 900, 5_000: 1_000} {
		if got := (&heard{since: since}).lastly(now); got != want {
			t.Errorf("since %d: got %v, want %v", since, got, want)
		}
	}
}

// TestBoundedSeries: ten thousand Applications have series only for namespaces, states and clusters.
func TestBoundedSeries(t *testing.T) {
	var m stateCounter
	states := []state{stateDelivered, statePending}
	began := time.Now()
	for i := range 10_000 {
		c := &managedcluster.Facts{Name: fmt.Sprintf("cluster%d", i%100), Exists: true, Accepted: true}
		m.set(named(fmt.Sprint(i)), began, appState{state: states[i%2]}, c)
	}
	t.Logf("10,000 Applications counted in %s", time.Since(began))
	if got := len(scraped(t, &m, began)); got != 2+1+100 {
		t.Errorf("%d series", got)
	}
}

// observed returns the number of samples of a histogram.
func observed(t *testing.T, h prometheus.Histogram) uint64 {
	t.Helper()
	var d dto.Metric
	if err := h.Write(&d); err != nil {
		t.Fatal(err)
	}
	return d.GetHistogram().GetSampleCount()
}

// TestDeliveryTimes: a change is measured at the first write of a work, and a delivery when the agent has applied the
// last written version.
func TestDeliveryTimes(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	written := func(generation int64) *workv1.ManifestWork {
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		w.UID, w.Generation = "uid", generation
		return w
	}
	var tm times
	now := time.Now()
	seen := &observation{since: now.Add(-time.Second)}
	seen.App, seen.Key = app, types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	step := func(verb work.Verb, was, is *workv1.ManifestWork) *delivery.Step {
		return &delivery.Step{Write: work.Write{Verb: verb, Was: was, Work: is}}
	}
	changes, deliveries := observed(t, propagationTime), observed(t, deliveryTime)
	expect := func(when string, c, d uint64) {
		t.Helper()
		if got := observed(t, propagationTime) - changes; got != c {
			t.Errorf("%s: %d changes, want %d", when, got, c)
		}
		if got := observed(t, deliveryTime) - deliveries; got != d {
			t.Errorf("%s: %d deliveries, want %d", when, got, d)
		}
	}
	tm.wrote(seen, step(work.VerbCreate, nil, written(1)), written(1), now)
	expect("a new work", 1, 0)
	seen.Own = written(1)
	tm.stands(seen, statePending, false, now)
	expect("not applied", 1, 0)
	tm.wrote(seen, step(work.VerbUpdate, written(1), written(2)), written(2), now)
	tm.stands(seen, stateDelivered, true, now)
	expect("the version before was applied, as the cache has it", 1, 0)
	seen.Own = written(2)
	tm.stands(seen, stateStale, false, now)
	tm.stands(seen, stateDelivered, true, now)
	tm.stands(seen, stateDelivered, true, now)
	expect("applied", 1, 1)
	tm.wrote(seen, step(work.VerbUpdate, written(2), written(2)), written(2), now)
	tm.stands(seen, stateDelivered, true, now)
	expect("labels alone, for which the agent has nothing to do", 1, 1)
	tm.wrote(seen, step(work.VerbUpdate, written(2), written(3)), written(3), now)
	tm.stands(seen, stateDeleting, false, now)
	if len(tm.sent) != 0 {
		t.Errorf("an Application that is being deleted is still waited for: %v", tm.sent)
	}
}
