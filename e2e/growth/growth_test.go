package growth

import (
	"math"
	"testing"
	"time"
)

// TestGrowths: growth above the bound is detected, and chance is no growth.
func TestGrowths(t *testing.T) {
	const minutes, warmUp = 20, 5
	bounds := Bounds("one")
	bounds["one watches"] = Watches
	for name, tc := range map[string]struct {
		heap    func(minute int) float64
		exceeds bool
	}{
		"flat":                     {func(int) float64 { return 60 }, false},
		"up and down":              {func(m int) float64 { return 60 + 5*math.Sin(float64(m)) }, false},
		"grows while it warms up":  {func(m int) float64 { return 20 + 8*float64(min(m, warmUp)) }, false},
		"one that is far off":      {func(m int) float64 { return 60 + 100*float64(m/(minutes-1)) }, false},
		"within the bound":         {func(m int) float64 { return 60 + 0.2*float64(m) }, false},
		"a leak":                   {func(m int) float64 { return 60 + 0.5*float64(m) }, true},
		"a leak under ups, downs":  {func(m int) float64 { return 60 + 0.8*float64(m) + 2*math.Sin(float64(m)) }, true},
		"a leak from a later time": {func(m int) float64 { return 60 + 2*float64(max(0, m-10)) }, true},
		"shrinks":                  {func(m int) float64 { return 60 - float64(m) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var samples []Sample
			for m := range minutes {
				samples = append(samples, Sample{At: time.Duration(m) * time.Minute, Values: map[string]float64{
					"one heap": tc.heap(m), "one goroutines": 500, "one descriptors": 20, "one watches": 30,
				}})
			}
			growths, err := Growths(samples, warmUp*time.Minute, bounds)
			if err != nil {
				t.Fatal(err)
			}
			if len(growths) != len(bounds) {
				t.Errorf("%d series were judged, want %d", len(growths), len(bounds))
			}
			for _, g := range growths {
				if want := g.Name == "one heap" && tc.exceeds; g.Exceeds() != want {
					t.Errorf("%s: exceeds %t", g.String(), g.Exceeds())
				}
			}
			if _, err := Growths(samples, warmUp*time.Minute, Bounds("one", "other")); err == nil {
				t.Error("a replica that was not measured is taken for one that does not grow")
			}
			if _, err := Growths(samples, (minutes-Enough+1)*time.Minute, bounds); err == nil {
				t.Error("too few samples are taken for enough")
			}
		})
	}
}

// TestExplained: etcd may grow only with its objects and revisions.
func TestExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		used func(minute int, kept float64) float64
		ok   bool
	}{
		"with its revisions": {func(_ int, kept float64) float64 { return kept / 512 }, true},
		"on its own":         {func(m int, kept float64) float64 { return kept / 512 * (1 + float64(m)/10) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var samples []Sample
			for m := range 20 {
				kept := float64(1000 + 500*(m%5))
				samples = append(samples, Sample{At: time.Duration(m) * time.Minute, Values: map[string]float64{
					storeRevisions: kept - 100, storeObjects: 100, storeUsed: tc.used(m, kept),
				}})
			}
			if err := Explained(samples, 5*time.Minute); (err == nil) != tc.ok {
				t.Error(err)
			}
		})
	}
	if err := Explained([]Sample{{}}, 0); err == nil {
		t.Error("what was not measured is explained")
	}
}
