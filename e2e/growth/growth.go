// Package growth keeps a program busy for long, and tells whether it grows: its memory, what it has open, and the store of its hub.
package growth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Sample is what was measured at a moment, by the names of the series.
type Sample struct {
	At     time.Duration
	Values map[string]float64
}

// String is a line that says all of it.
func (s *Sample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.At.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		fmt.Fprintf(&b, "; %s %.6g", name, s.Values[name])
	}
	return b.String()
}

// A Bound is by how much a series may grow from the end of the warm-up to the end: a share of what it was, or so much anyhow.
type Bound struct{ Share, Least float64 }

// Watches is the bound of how many watches are open: that follows from what is watched, which does not change.
var Watches = Bound{Least: 2}

// Bounds are those of the series that Process takes of some processes, by the names of the series. What they allow is what is under
// way at one moment and not at another, and some bytes for each change.
func Bounds(of ...string) map[string]Bound {
	out := map[string]Bound{}
	for _, name := range of {
		// Objects that come and go are in the caches: less than a tenth of them. At 7 changes a second, 4 MiB in a quarter of an hour
		// would be 650 bytes of each.
		out[Series(name, heap)] = Bound{0.05, 4}
		// Each request on its way has two. All are on one connection, but for watches of some kinds.
		out[Series(name, goroutines)], out[Series(name, descriptors)] = Bound{0.05, 30}, Bound{0, 5}
	}
	return out
}

// Enough is how many samples it takes to tell growth from chance.
const Enough = 6

// slope is the median of what any two samples say that a series grows by in an hour. One sample that is far off does not move it.
func slope(samples []Sample, name string) float64 {
	var all []float64
	for i, one := range samples {
		for _, other := range samples[i+1:] {
			all = append(all, (other.Values[name]-one.Values[name])/(other.At-one.At).Hours())
		}
	}
	return median(all)
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}

// A Growth is what became of a series after the warm-up.
type Growth struct {
	Name string

	// First and Last are the ends of the line that fits it, and Allowed is by how much they may differ.
	First, Last, Allowed float64
}

// Exceeds tells whether it has grown by more than is allowed.
func (g *Growth) Exceeds() bool { return g.Last-g.First > g.Allowed }

func (g *Growth) String() string {
	return fmt.Sprintf("%s: from %.1f to %.1f; %.1f more is allowed", g.Name, g.First, g.Last, g.Allowed)
}

// Growths fit what came after the warm-up: each series that has a bound.
func Growths(samples []Sample, warmUp time.Duration, bounds map[string]Bound) ([]Growth, error) {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.At < warmUp })
	if len(samples) < Enough {
		return nil, fmt.Errorf("%d samples after the warm-up tell nothing of growth: %d are needed", len(samples), Enough)
	}
	took := samples[len(samples)-1].At - samples[0].At
	var out []Growth
	for name, b := range bounds {
		if missing := slices.IndexFunc(samples, func(s Sample) bool { _, is := s.Values[name]; return !is }); missing >= 0 {
			return nil, fmt.Errorf("%s was not measured at %s", name, samples[missing].At)
		}
		grown := slope(samples, name) * took.Hours()
		var middles []float64
		for _, s := range samples {
			middles = append(middles, s.Values[name])
		}
		first := median(middles) - grown/2
		out = append(out, Growth{name, first, first + grown, max(b.Least, b.Share*first)})
	}
	slices.SortFunc(out, func(a, b Growth) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Explained fails where etcd uses more than its objects and revisions account for: for each of them more than it was at most in the
// warm-up, with half of it to spare, since they differ in size.
func Explained(samples []Sample, warmUp time.Duration) error {
	var each float64
	for _, s := range samples {
		kept := s.Values[storeRevisions] + s.Values[storeObjects]
		if kept == 0 {
			return fmt.Errorf("etcd was not measured at %s: there is only %v", s.At, slices.Sorted(maps.Keys(s.Values)))
		}
		took := s.Values[storeUsed] / kept
		if s.At < warmUp || each == 0 {
			each = max(each, took)
			continue
		}
		if took > 1.5*each {
			return fmt.Errorf("at %s etcd uses %.1f KiB for each object and revision, and %.1f at most before", s.At, took*1024, each*1024)
		}
	}
	return nil
}
