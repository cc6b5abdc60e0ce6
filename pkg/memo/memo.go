// Package memo caches the results of parsing texts. A decision about an Application parses the JSON of its spec, and of
// the manifests in its work, several times. The next decision mostly parses the same JSON. With the cache, a decision
// without a change takes 50 µs and 73 allocations in place of 220 µs and 706 (BenchmarkDecide in pkg/delivery).
package memo

import "k8s.io/utils/lru"

const (
	// maxTexts is the maximum number of cached texts, and maxBytes the maximum size of a cached text: 2 MB of text at the
	// worst. A small cache is enough, because mostly the same decision parses a text again.
	maxTexts = 256
	maxBytes = 8 << 10
)

// Of returns read with a cache of its results. The result of read must depend only on the text. All callers share a
// result, so no caller may change a result.
func Of[V any](read func(text []byte) V) func(text []byte) V {
	known := lru.New(maxTexts)
	return func(text []byte) V {
		if len(text) > maxBytes {
			return read(text)
		}
		key := string(text)
		if out, ok := known.Get(key); ok {
			return out.(V)
		}
		out := read(text)
		known.Add(key, out)
		return out
	}
}
