package memo

import (
	"strconv"
	"strings"
	"testing"
)

// TestTexts: Get reads a short text once and a long text each time, and the size of the cache is bounded.
func TestTexts(t *testing.T) {
	var m Texts[int]
	read := 0
	length := func(text []byte) int { read++; return len(text) }
	long := strings.Repeat("x", maxBytes+1)
	for _, text := range []string{"a", "bb", "a", "", "", long, long} {
		if got := m.Get([]byte(text), length); got != len(text) {
			t.Errorf("%.9q: got %d", text, got)
		}
	}
	if read != 5 {
		t.Errorf("%d were read", read)
	}
	for i := range 3 * maxTexts {
		m.Get([]byte(strconv.Itoa(i)), length)
	}
	if len(m.known) > maxTexts {
		t.Errorf("%d are remembered", len(m.known))
	}
}
