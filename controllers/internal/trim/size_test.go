package trim

import (
	"runtime"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestSize(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for title, tc := range map[string]struct {
		value       any
		least, most int
	}{
		"nothing":   {nil, 0, 0},
		"a pointer": {(*argocd.Status)(nil), 0, 16},
		"a text":    {text, 1000, 1032},
		"texts":     {[]string{text, text}, 2000, 2100},
		"bytes":     {[]byte(text), 1000, 1064},
		"a map":     {map[string]string{text: text}, 2000, 2200},
		"room":      {make([]int64, 0, 100), 800, 832},
	} {
		if got := Size(tc.value); got < tc.least || got > tc.most {
			t.Errorf("%s takes %d bytes, want %d to %d", title, got, tc.least, tc.most)
		}
	}
}

// TestSizeMatchesTheAllocation: for the parts of reports, the estimate differs from the allocated memory by at most a
// third.
func TestSizeMatchesTheAllocation(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	status := &argocd.Status{}
	for range 4096 {
		status.Resources = append(status.Resources,
			argocd.ResourceStatus{Kind: strings.Repeat("k", 20), Name: strings.Repeat("n", 60), Health: &argocd.Health{Status: "Healthy"}})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	took := int(after.HeapAlloc - before.HeapAlloc)
	if got := Size(status); got < took*2/3 || got > took*4/3 {
		t.Errorf("%d bytes, and %d were allocated", got, took)
	}
	runtime.KeepAlive(status)
}
