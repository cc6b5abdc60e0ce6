package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	parser "github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

func TestCheck(t *testing.T) {
	r := &Result{Figures: map[string]float64{"limit.rate": 100, "rollout.rate": 40, "idle.writes": 0}}
	tests := map[string]struct {
		threshold Threshold
		says      string
	}{
		"holds":                  {Threshold{Figure: "rollout.rate", Min: ptr.To(40.0), Max: ptr.To(40.0)}, ""},
		"too small":              {Threshold{Figure: "rollout.rate", Min: ptr.To(41.0), Why: "slow"}, "rollout.rate is 40, less than 41: slow"},
		"too large":              {Threshold{Figure: "rollout.rate", Max: ptr.To(39.0), Why: "much"}, "rollout.rate is 40, more than 39: much"},
		"a ratio holds":          {Threshold{Figure: "rollout.rate", Over: "limit.rate", Min: ptr.To(0.4)}, ""},
		"a ratio is too small":   {Threshold{Figure: "rollout.rate", Over: "limit.rate", Min: ptr.To(0.5)}, "rollout.rate / limit.rate is 0.4"},
		"zero holds":             {Threshold{Figure: "idle.writes", Max: ptr.To(0.0)}, ""},
		"was not measured":       {Threshold{Figure: "idle.lists", Max: ptr.To(0.0)}, "idle.lists was not measured"},
		"the divisor was not":    {Threshold{Figure: "limit.rate", Over: "storm.rate", Max: ptr.To(1.0)}, "storm.rate was not measured"},
		"the divisor is nothing": {Threshold{Figure: "limit.rate", Over: "idle.writes", Max: ptr.To(1.0)}, "idle.writes was not measured, or is 0"},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			err := Check(r, []Threshold{tc.threshold})
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

// TestThresholds checks the shipped thresholds: they are well formed, and each threshold can fail.
func TestThresholds(t *testing.T) {
	thresholds, err := ReadThresholds("thresholds.yaml")
	ofCost, errOfCost := ReadThresholds("thresholds-cost.yaml")
	if err := errors.Join(err, errOfCost); err != nil {
		t.Fatal(err)
	}
	thresholds = append(thresholds, ofCost...)
	for _, th := range thresholds {
		if th.Why == "" {
			t.Errorf("%s does not say why", th.name())
		}
		bad := &Result{Figures: map[string]float64{th.Figure: 1e9, th.Over: 1}}
		if th.Max == nil {
			bad.Figures[th.Figure] = -1
		}
		if Check(bad, []Threshold{th}) == nil {
			t.Errorf("%s holds whatever is measured", th.name())
		}
	}
}

func TestReadThresholds(t *testing.T) {
	for text, says := range map[string]string{
		"- {figure: nonsense, max: 1}":                    `no figure "nonsense"`,
		"- {figure: idle.writes, over: nonsense, max: 1}": `no figure "nonsense"`,
		"- {max: 1}":                       `no figure ""`,
		"- {figure: idle.writes}":          "give a min or a max",
		"- {figure: idle.writes, most: 1}": "most",
		"[]":                               "no thresholds",
	} {
		file := filepath.Join(t.TempDir(), "thresholds.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadThresholds(file); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}

func TestTracker(t *testing.T) {
	tr, at := newTracker(), time.Unix(0, 0)
	tr.sent(1, 2, at)
	tr.sent(1, 3, at.Add(time.Second))
	tr.sent(2, 4, at)
	tr.saw(2, 3, at.Add(time.Second)) // an earlier change
	tr.saw(1, 3, at.Add(3*time.Second))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := tr.wait(ctx); err == nil || !strings.Contains(err.Error(), "1 Applications") {
		t.Errorf("with one change that was not seen: %v", err)
	}
	if err := tr.waitFor(ctx, 2); err == nil || !strings.Contains(err.Error(), "Application 2 were not seen") {
		t.Errorf("with its change that was not seen: %v", err)
	}
	tr.saw(2, 5, at.Add(4*time.Second))
	if err := errors.Join(tr.wait(t.Context()), tr.waitFor(t.Context(), 2)); err != nil {
		t.Error(err)
	}
	if got := tr.take(); len(got) != 3 || got[0] != 2*time.Second || got[2] != 4*time.Second {
		t.Errorf("delays %v", got)
	}
}

func TestPercentiles(t *testing.T) {
	r := newResult(&Options{})
	sorted := make([]time.Duration, 200)
	for i := range sorted {
		sorted[i] = time.Duration(i+1) * time.Millisecond
	}
	r.delays("roundtrip", sorted)
	if r.Figures["roundtrip.p50"] != 100 || r.Figures["roundtrip.p99"] != 198 || r.Figures["roundtrip.max"] != 200 {
		t.Errorf("%v", r.Figures)
	}
}

func TestLayout(t *testing.T) {
	l := layout{clusters: 30, sets: 7}
	for app := range l.applications() {
		if n, ok := l.number(l.name(app)); !ok || n != app {
			t.Fatalf("Application %d is named %s, which is taken for %d", app, l.name(app), n)
		}
	}
	for _, name := range []string{"", "cluster00001", "cluster00030-bench-set00", "cluster00000-bench-set07", "other-bench-setx"} {
		if n, ok := l.number(name); ok {
			t.Errorf("%q is taken for Application %d", name, n)
		}
	}
}

// TestTurns checks that every Application has a single turn. With bySet, all Applications of an ApplicationSet come
// before the Applications of the next.
func TestTurns(t *testing.T) {
	for _, bySet := range []bool{false, true} {
		l := layout{clusters: 30, sets: 7, bySet: bySet}
		had := map[int]bool{}
		for i := range l.applications() {
			app := l.turn(i)
			if had[app] {
				t.Fatalf("by set %v: Application %d has two turns", bySet, app)
			}
			had[app] = true
			if bySet && l.set(app) != i/l.clusters {
				t.Errorf("turn %d is of set %d", i, l.set(app))
			}
		}
	}
}

// TestAgentsReport checks that Towline understands all values in the reports of the benchmark's agents.
func TestAgentsReport(t *testing.T) {
	l := layout{clusters: 2, sets: 2}
	app := &argocd.Application{}
	if err := json.Unmarshal(encoded(l.application(3, "uid")), app); err != nil {
		t.Fatal(err)
	}
	for _, volatile := range []bool{false, true} {
		rendered, err := work.Render(app, work.Requests{Volatile: volatile})
		if err != nil {
			t.Fatal(err)
		}
		played := &manifestWork{}
		if err := json.Unmarshal(encoded(rendered), played); err != nil {
			t.Fatal(err)
		}
		played.asksVolatile, played.asksCompared = asks(played.Spec, "reconciledAt"), asksCompared(played.Spec)
		if played.asksVolatile != volatile || !played.asksCompared {
			t.Errorf("a work that asks for what changes with every comparison: %v, for the condition: %v", played.asksVolatile, played.asksCompared)
		}
		on := &there{number: 7, version: 1}
		on.syncs()
		w := &workv1.ManifestWork{}
		if err := json.Unmarshal(encoded(workStatus(played, l.name(3), on)), &w.Status); err != nil {
			t.Fatal(err)
		}
		o := parser.Parse(&w.Status, work.Identifier(app))
		if !o.Complete || len(o.Rejected) > 0 || numberOf(o.Status.Sync.Revision) != 7 || (o.Status.ReconciledAt != "") != volatile {
			t.Errorf("it is read as %+v", o)
		}
	}
}

func TestRequests(t *testing.T) {
	before := counts{"PATCH applications": 2, "LIST applications": 1}
	after := counts{"PATCH applications": 5, "LIST applications": 1, "PATCH manifestworks/status": 4, "PUT applications": 1}
	d := after.since(before)
	if d.of("applications", writing...) != 4 || d.of("", listing...) != 0 || d.of("", writing...) != 8 || d.of("manifestworks") != 0 {
		t.Errorf("%v", d)
	}
}

func TestEnvironments(t *testing.T) {
	o := Defaults()
	o.Env = []string{"kube-apiserver:GOMEMLIMIT=2GiB", "towline:A=b:c", "towline:D="}
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if got := o.env(processTowline); !slices.Equal(got, []string{"A=b:c", "D="}) || len(o.envs()) != 2 {
		t.Errorf("%v, %v", got, o.envs())
	}
	for _, bad := range []string{"GOMEMLIMIT=2GiB", "towline:GOMEMLIMIT", ":A=b"} {
		o.Env = []string{bad}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestSideBySide checks that a table divides only comparable results.
func TestSideBySide(t *testing.T) {
	of := func(transport string, clusters int) *Result {
		return newResult(&Options{Transport: transport, Clusters: clusters, Sets: 2})
	}
	small, large, maestro, old := of("hub", 5), of("hub", 50), of("maestro", 50), of("", 50)
	for want, results := range map[string][]*Result{
		"":               {small, maestro},
		"growth":         {small, old, large},
		"second / first": {old, maestro},
	} {
		if got := quotient(results); got != want {
			t.Errorf("%s: %q, want %q", results[0].title(), got, want)
		}
	}
	if maestro.title() != "50 × 2 = 100, Maestro" {
		t.Error(maestro.title())
	}
}
