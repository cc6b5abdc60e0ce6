// Package memo remembers what was made of texts. A decision about an Application reads the JSON of its spec, and of what its work
// carries, several times, and the next decision mostly reads the same: to remember it makes the whole simulation a tenth faster.
//
// The cache in k8s.io/utils/lru is slower here: a hit locks out other readers and allocates a copy of the text as the key.
package memo

import "sync"

const (
	// maxTexts is how many texts are remembered, and maxBytes how long each is at most: 2 MB of text at the worst. It is mostly
	// the same decision that reads a text again.
	maxTexts = 256
	maxBytes = 8 << 10
)

// Texts remembers what was made of texts. The zero value remembers nothing. What it returns is shared: nobody changes it.
type Texts[V any] struct {
	mu    sync.RWMutex
	known map[string]V
}

// Get is what read makes of a text, which depends on nothing else.
func (m *Texts[V]) Get(text []byte, read func([]byte) V) V {
	if len(text) > maxBytes {
		return read(text)
	}
	m.mu.RLock()
	out, ok := m.known[string(text)]
	m.mu.RUnlock()
	if ok {
		return out
	}
	out = read(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxTexts {
		m.known = map[string]V{}
	}
	m.known[string(text)] = out
	return out
}
