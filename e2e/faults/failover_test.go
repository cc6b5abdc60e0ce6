package faults

import (
	"flag"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/towline"
)

var (
	kills         = flag.Int("failover.kills", 10, "how many leaders are stopped")
	endings       = flag.String("failover.endings", ".", "only in the ways that match: hand-over, crash, out-of-memory, frozen, cut-off")
	flowsUnderWay = flag.Int("failover.flows", 12, "how many flows are under way at a time")
)

// TestFailover stops leaders during flows. The test fails if data is lost, an action is done twice, or a replica
// without the Lease writes.
func TestFailover(t *testing.T) {
	if os.Getenv("TOWLINE_FAULTS") == "" {
		t.Skip("set TOWLINE_FAULTS=1 to stop leaders on a real fleet")
	}
	w := newTestWorld(t)
	binary, err := towline.Build(t.Context(), w.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFailover(t.Context(), w, towline.Options{Binary: binary}, *flowsUnderWay, say)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if err := f.Refer(t.Context(), churned); err != nil {
		t.Fatal(err)
	}
	if *limit > 0 {
		f.Until = time.Now().Add(*limit)
	}
	began, played := time.Now(), map[string]int{}
	again, restarted, failed := 0, 0, 0
	random := rand.New(rand.NewSource(*seed))
	measured, err := f.Run(t.Context(), chosenEndings(random), random, func(c Churned) {
		played[c.Flow]++
		again, restarted = again+c.Again, restarted+c.Restarted
		if c.Err != nil {
			failed++
			f.Say("FAILED %v", c.Err)
			t.Errorf("FAILED %v", c.Err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	tellTakeovers(t, measured)
	writes, late := f.ledger.tally()
	t.Logf("%d leaders stopped in %s, flows played %v", len(measured), time.Since(began).Round(time.Second), played)
	t.Logf("%d flows ended otherwise, %d operations run again, %d workloads restarted, %d of %d writes without the Lease",
		failed, again, restarted, len(late), writes)
	if again+restarted+len(late) > 0 {
		t.Errorf("%d operations run again, %d workloads restarted, writes without the Lease: %v", again, restarted, last(late, 10))
	}
}

// chosenEndings returns the endings in equal numbers and random order.
func chosenEndings(random *rand.Rand) []Ending {
	matches := regexp.MustCompile(*endings)
	all := slices.DeleteFunc([]Ending{HandOver, Crash, OutOfMemory, Frozen, CutOff}, func(e Ending) bool { return !matches.MatchString(string(e)) })
	out := make([]Ending, *kills)
	for i := range out {
		out[i] = all[i%len(all)]
	}
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// tellTakeovers logs the durations, and fails if they exceed the goal.
func tellTakeovers(t *testing.T, measured []Takeover) {
	t.Helper()
	for how, goal := range Endings {
		var led, worked []time.Duration
		for _, m := range measured {
			if m.Ending == how {
				led, worked = append(led, m.Led), append(worked, m.Worked)
			}
		}
		if len(led) == 0 {
			continue
		}
		t.Logf("%-10s %3d times: the next leads after p50 %.2f s, p99 %.2f s; works after p50 %.2f s, p99 %.2f s", how, len(led),
			quantile(led, 0.5).Seconds(), quantile(led, 0.99).Seconds(), quantile(worked, 0.5).Seconds(), quantile(worked, 0.99).Seconds())
		if p99 := quantile(led, 0.99); p99 > goal {
			t.Errorf("%s: the next leads after %s at the 99th percentile, want %s", how, p99.Round(time.Millisecond), goal)
		}
	}
}

// TestLedger: the last writer of the Lease holds it until the Lease expires, and the ledger notes writes by a replica
// without the Lease.
func TestLedger(t *testing.T) {
	const one, other = "one", "other"
	lease := func(l *ledger, replica, holder string) {
		l.arrives(replica, &request{verb: "PUT", resource: "leases", name: leaseName},
			[]byte(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"`+holder+`"}}`))(&answer{code: 200})
	}
	write := func(l *ledger, replica string, code int) {
		l.arrives(replica, &request{verb: "PATCH", resource: "applications"}, nil)(&answer{code: code})
	}
	for name, tc := range map[string]struct {
		do   func(*ledger)
		late int
	}{
		"the leader writes":            {func(l *ledger) { lease(l, one, "a"); write(l, one, 200) }, 0},
		"nobody leads":                 {func(l *ledger) { write(l, one, 200) }, 1},
		"another leads":                {func(l *ledger) { lease(l, one, "a"); lease(l, other, "b"); write(l, one, 200) }, 1},
		"it has given it up":           {func(l *ledger) { lease(l, one, "a"); lease(l, one, ""); write(l, one, 200) }, 1},
		"its process has ended":        {func(l *ledger) { lease(l, one, "a"); l.ended(one); write(l, one, 200) }, 1},
		"the pod's next process leads": {func(l *ledger) { lease(l, one, "a"); l.ended(one); lease(l, one, "a"); write(l, one, 200) }, 0},
		"the Lease has run out":        {func(l *ledger) { lease(l, one, "a"); l.renewed = time.Now().Add(-leaseDuration); write(l, one, 200) }, 1},
		"what is refused does nothing": {func(l *ledger) { lease(l, one, "a"); lease(l, other, "b"); write(l, one, 409) }, 0},
		"what is unheard of may have":  {func(l *ledger) { lease(l, one, "a"); lease(l, other, "b"); write(l, one, 0) }, 1},
		"a Lease that cannot be written": {func(l *ledger) {
			l.arrives(one, &request{resource: "leases", name: leaseName}, nil)(&answer{code: 409})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{}
			tc.do(l)
			if _, late := l.tally(); len(late) != tc.late {
				t.Errorf("late are %v, want %d", late, tc.late)
			}
		})
	}
}

// TestQuantile: for a few values, a high quantile is the longest value.
func TestQuantile(t *testing.T) {
	of := []time.Duration{4, 1, 3, 2}
	if p50, p99 := quantile(of, 0.5), quantile(of, 0.99); p50 != 3 || p99 != 4 {
		t.Errorf("p50 %d, p99 %d", p50, p99)
	}
}

// TestMoreAndLost: a repeated operation and a restarted workload are counted.
func TestMoreAndLost(t *testing.T) {
	const place = "cluster1: ConfigMap default/POINT"
	want := State{"cluster1: operations": "1", place: `{"kept": true}`}
	for name, tc := range map[string]struct {
		end         State
		again, lost int
	}{
		"the same":          {want, 0, 0},
		"run again":         {State{"cluster1: operations": "2", place: want[place]}, 1, 0},
		"on another":        {State{"cluster2: operations": "1", place: want[place]}, 1, 0},
		"restarted":         {State{"cluster1: operations": "1", place: `{"kept": false}`}, 0, 1},
		"not there anymore": {State{}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if again, gone := more(want, tc.end), lost(want, tc.end); again != tc.again || gone != tc.lost {
				t.Errorf("%d operations again, %d workloads lost", again, gone)
			}
		})
	}
}
