// Package memo caches the results of parsing texts. A decision about an Application parses the JSON of its spec, and of
// the manifests in its work, several times. The next decision mostly parses the same JSON. The cache makes the whole
// simulation a tenth faster.
//
// The cache in k8s.io/utils/lru is slower here: a hit blocks concurrent readers, and allocates a copy of the text as the
// key.
package memo

import "sync"

const (
	// maxTexts is the maximum number of cached texts, and maxBytes the maximum size of a cached text: 2 MB of text at the
	// worst. A small cache is enough, because mostly the same decision parses a text again.
	maxTexts = 256
	maxBytes = 8 << 10
)

// Texts caches the result of parsing each text. The zero value is an empty cache. All callers share a result, so no
// caller may change a result.
type Texts[V any] struct {
	mu    sync.RWMutex
	known map[string]V
}

// Get returns the result of read for the text, cached if the text is not longer than maxBytes. The result of read must
// depend only on the text.
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
