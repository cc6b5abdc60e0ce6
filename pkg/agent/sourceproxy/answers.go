package sourceproxy

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Limits of the kept answers.
const (
	maxAnswer  = 2 << 20
	maxAnswers = 256
	maxKept    = 8 << 20
)

// question identifies a request about references.
type question struct {
	repository string
	protocol   string   // the header Git-Protocol
	body       [32]byte // the SHA-256 of the command ls-refs; zero for info/refs
}

// answer is a complete answer of the hub about references.
type answer struct {
	contentType string
	body        []byte
	used        uint64
}

// answers are the kept answers. A new answer displaces the answers without use for the longest time.
type answers struct {
	mu    sync.Mutex
	kept  map[question]*answer
	bytes int
	uses  uint64
}

// keep replaces the answer to a question.
func (a *answers) keep(q question, contentType string, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(q)
	for len(a.kept) >= maxAnswers || a.bytes+len(body) > maxKept {
		a.drop(slices.MinFunc(slices.Collect(maps.Keys(a.kept)), func(x, y question) int { return cmp.Compare(a.kept[x].used, a.kept[y].used) }))
	}
	if a.kept == nil {
		a.kept = map[question]*answer{}
	}
	a.kept[q] = &answer{contentType: contentType, body: body, used: a.use()}
	a.bytes += len(body)
}

// get returns the kept answer to a question, or nil.
func (a *answers) get(q question) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.kept[q]
	if found != nil {
		found.used = a.use()
	}
	return found
}

// forget drops the answers of a repository.
func (a *answers) forget(repository string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for q := range a.kept {
		if q.repository == repository {
			a.drop(q)
		}
	}
}

// drop removes the answer to a question. The caller holds the lock.
func (a *answers) drop(q question) {
	if old := a.kept[q]; old != nil {
		a.bytes -= len(old.body)
		delete(a.kept, q)
	}
}

// use returns the time of a use, as a number. The caller holds the lock.
func (a *answers) use() uint64 {
	a.uses++
	return a.uses
}
