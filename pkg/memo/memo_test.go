package memo

import (
	"strconv"
	"strings"
	"testing"
)

// TestOf: the function reads a short text once and a long text each time. The cache forgets the oldest of many texts.
func TestOf(t *testing.T) {
	read := 0
	length := Of(func(text []byte) int { read++; return len(text) })
	long := strings.Repeat("x", maxBytes+1)
	for _, text := range []string{"a", "bb", "a", "", "", long, long} {
		if got := length([]byte(text)); got != len(text) {
			t.Errorf("%.9q: got %d", text, got)
		}
	}
	if read != 5 {
		t.Errorf("%d were read", read)
	}
	read = 0
	for i := range maxTexts {
		length([]byte(strconv.Itoa(i)))
	}
	length([]byte("a"))
	length([]byte(strconv.Itoa(maxTexts - 1)))
	if read != maxTexts+1 {
		t.Errorf("%d were read, want %d", read, maxTexts+1)
	}
}
