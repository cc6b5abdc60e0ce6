package faults

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/growth"
	"github.com/towline-io/towline/e2e/towline"
)

var (
	enduring   = flag.Duration("endurance.time", 15*time.Minute, "how long to go on")
	warmUp     = flag.Duration("endurance.warm-up", 4*time.Minute, "how long until growth counts")
	every      = flag.Duration("endurance.every", time.Minute, "how often to take a sample")
	population = flag.Int("endurance.applications", 1000, "how many Applications there are besides those of the flows")
	rate       = flag.Float64("endurance.rate", 5, "how many of them change a second")
)

// TestEndurance runs Towline for a long time, and fails if a measured value grows, or if a change does not arrive.
func TestEndurance(t *testing.T) {
	if os.Getenv("TOWLINE_FAULTS") == "" {
		t.Skip("set TOWLINE_FAULTS=1 to have Towline go on for long on a real fleet")
	}
	w := newTestWorld(t)
	binary, err := towline.Build(t.Context(), w.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEndurance(t.Context(), w, binary, *flowsUnderWay, say)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.Every = *every
	began := time.Now()
	if err := e.Populate(t.Context(), *population); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d Applications are there after %s", *population, time.Since(began).Round(time.Second))
	if err := e.Refer(t.Context(), churned); err != nil {
		t.Fatal(err)
	}
	played := map[string]int{}
	samples, err := e.Run(t.Context(), *rate, time.Now().Add(*enduring), func(c Churned) {
		if played[c.Flow]++; c.Err != nil {
			e.Say("FAILED %v", c.Err)
			t.Errorf("FAILED %v", c.Err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("played in %s: %v", *enduring, played)
	for name, counts := range e.Traffic() {
		t.Logf("%s: %v", name, counts)
	}
	judge(t, samples)
}

// judge fails if a measured value has grown by more than its bound.
func judge(t *testing.T, samples []growth.Sample) {
	t.Helper()
	for _, s := range samples {
		t.Log(s.String())
	}
	if err := growth.Judge(samples, *warmUp, boundsOf(leader, standby), t.Logf); err != nil {
		t.Error(err)
	}
}
