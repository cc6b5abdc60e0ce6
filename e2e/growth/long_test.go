package growth

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestChurn: Churn makes the changes at the rate until the end, at most fifty in parallel, and waits for all of them.
func TestChurn(t *testing.T) {
	for title, tc := range map[string]struct {
		takes time.Duration
		want  int32
	}{
		"fast": {time.Millisecond, 50},
		"slow": {time.Minute, changing},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				time.AfterFunc(10*time.Second+time.Millisecond, func() { close(over) })
				var begun, ended atomic.Int32
				if err := Churn(t.Context(), 5, over, func(context.Context, int) {
					begun.Add(1)
					<-time.After(tc.takes)
					ended.Add(1)
				}); err != nil {
					t.Error(err)
				}
				if begun.Load() != tc.want || ended.Load() != tc.want {
					t.Errorf("%d have begun and %d have ended, want %d", begun.Load(), ended.Load(), tc.want)
				}
			})
		})
	}
}

// TestSamples: Samples takes a sample for each period until the end of the time, or until an error.
func TestSamples(t *testing.T) {
	failure := errors.New("it does not answer")
	for title, tc := range map[string]struct {
		failsAt, want int
	}{"all": {0, 10}, "until one fails": {4, 3}} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				got, err := Samples(t.Context(), time.Minute, time.Now().Add(10*time.Minute), t.Logf, func(_ context.Context, into map[string]float64) error {
					if n++; n == tc.failsAt {
						return failure
					}
					into["n"] = float64(n)
					return nil
				})
				if len(got) != tc.want || (tc.failsAt > 0) != errors.Is(err, failure) {
					t.Errorf("%d samples, %v", len(got), err)
				}
				if last := got[len(got)-1]; last.At != time.Duration(tc.want)*time.Minute || last.Values["n"] != float64(tc.want) {
					t.Errorf("the last is %s", last.String())
				}
			})
		})
	}
}

// TestJudge: the error names growing series, and series without measurements.
func TestJudge(t *testing.T) {
	samples := func(leak float64) (out []Sample) {
		for m := range 20 {
			out = append(out, Sample{At: time.Duration(m) * time.Minute, Values: map[string]float64{
				"one heap": 60 + leak*float64(m), "one goroutines": 500, "one descriptors": 20, storeRevisions: 900, storeObjects: 100, storeUsed: 2,
			}})
		}
		return out
	}
	for title, tc := range map[string]struct {
		leak float64
		of   string
		says string
	}{
		"flat": {0, "one", ""}, "a leak": {1, "one", "GREW one heap"}, "not measured": {0, "other", "was not measured"},
	} {
		err := Judge(samples(tc.leak), 5*time.Minute, Bounds(tc.of), t.Logf)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", title, err)
		}
	}
}
