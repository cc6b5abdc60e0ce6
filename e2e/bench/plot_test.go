package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPlot: each chart is well-formed XML and contains the expected text.
func TestPlot(t *testing.T) {
	small, large := newResult(&Options{Clusters: 10, Sets: 2}), newResult(&Options{Clusters: 100, Sets: 2})
	for i, r := range []*Result{small, large} {
		for _, figure := range []string{"change.cpu", "change.hub_cpu", "memory.idle", "storm.rate"} {
			r.set(figure, float64(10*i+1))
		}
		r.delays("freshness.status", []time.Duration{time.Millisecond, time.Second})
	}
	dir := t.TempDir()
	if err := Plot(dir, large, small); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"cost.svg": "kube-apiserver and etcd", "memory.svg": "idle", "freshness-10x2.svg": "one change at a time", "freshness-100x2.svg": "milliseconds",
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(data), says) || strings.Contains(string(data), "NaN") || strings.Contains(string(data), "Inf") {
			t.Errorf("%s:\n%s", name, data)
		}
		decoder := xml.NewDecoder(strings.NewReader(string(data)))
		for err = error(nil); err == nil; {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
