// Package growth keeps a program busy for a long time, and checks whether its memory, its open resources, or the store
// of its hub grow.
package growth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Sample contains the measurements at a moment, by the names of the series.
type Sample struct {
	At     time.Duration
	Values map[string]float64
}

// String returns all measurements on one line.
func (s *Sample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.At.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		fmt.Fprintf(&b, "; %s %.6g", name, s.Values[name])
	}
	return b.String()
}

// A Bound limits the growth of a series from the end of the warm-up to the end: the larger of a share of the first
// value, and an absolute value.
type Bound struct{ Share, Least float64 }

// Watches is the bound for the number of open watches. The number depends only on the watched resources, which do not
// change.
var Watches = Bound{Least: 2}

// Bounds returns the bounds for the series of Process, for some processes, by the names of the series. The bounds allow
// for concurrent requests, and for some bytes for each change.
func Bounds(of ...string) map[string]Bound {
	out := map[string]Bound{}
	for _, name := range of {
		// The caches hold changing objects: less than a tenth of all objects. At 7 changes a second, 4 MiB in a quarter
		// of an hour would be 650 bytes for each change.
		out[Series(name, heap)] = Bound{0.05, 4}
		// Each running request has two goroutines. All requests share a connection, except for watches of some kinds.
		out[Series(name, goroutines)], out[Series(name, descriptors)] = Bound{0.05, 30}, Bound{0, 5}
	}
	return out
}

// Enough is the number of samples that distinguishes growth from chance.
const Enough = 6

// slope returns the growth of a series in an hour: the median over all pairs of samples. A single outlier does not
// change the median.
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

// A Growth is the change of a series after the warm-up.
type Growth struct {
	Name string

	// First and Last are the ends of the fitted line. Allowed is the largest permitted difference.
	First, Last, Allowed float64
}

// Exceeds reports whether the series has grown by more than Allowed.
func (g *Growth) Exceeds() bool { return g.Last-g.First > g.Allowed }

func (g *Growth) String() string {
	return fmt.Sprintf("%s: from %.1f to %.1f; %.1f more is allowed", g.Name, g.First, g.Last, g.Allowed)
}

// Growths fits the samples after the warm-up, for each series with a bound.
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

// Explained returns an error if etcd uses more space than its objects and revisions explain. The limit for each object
// or revision is one and a half times the maximum during the warm-up, because objects differ in size.
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
