package mirror

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/towline-io/towline/cmd/towline-source/internal/git"
)

// Limits of the kept answers: for a mirror, and the bytes of all mirrors.
const (
	maxAnswers = 16
	maxKept    = 32 << 20
)

// readTimeout is how long the mirror may take to answer a question.
const readTimeout = 30 * time.Second

// Answer returns the answer to a question about the references, from a mirror that is as new as the Git server. A commit
// makes all clusters ask the same questions, so the answer comes from memory until the references change. Requests at
// the same time share a call of read. The end of a request does not end the call.
func (m *Mirrors) Answer(
	ctx context.Context, r Repository, question string, place Place, read func(context.Context, git.Mirror) (*git.Answer, error),
) (*git.Answer, error) {
	e, err := m.current(ctx, r)
	if err != nil {
		return nil, err
	}
	leave, err := place(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	seen := m.view(e, r)
	question += "\x00" + strings.Join(slices.Compact(slices.Sorted(slices.Values(seen.Shown))), "\x00")
	digest, kept := m.answer(e, question)
	if kept != nil {
		return kept, nil
	}
	done := m.group.DoChan(r.key()+"\x00"+digest+"\x00"+question, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		e.using.RLock()
		defer e.using.RUnlock()
		out, err := read(ctx, seen)
		if err == nil {
			m.keep(e, digest, question, out)
		}
		return out, err
	})
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*git.Answer), nil
	}
}

// answer returns the digest of the references, and the kept answer to a question; nil for none.
func (m *Mirrors) answer(e *entry, question string) (digest string, kept *git.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.digest, e.answers[question]
}

// keep keeps an answer, unless the references have changed since.
func (m *Mirrors) keep(e *entry, digest, question string, answer *git.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.digest != digest {
		return
	}
	if len(e.answers) >= maxAnswers {
		m.forget(e)
	}
	for _, other := range m.entries {
		if m.kept+len(answer.Body) > maxKept {
			m.forget(other)
		}
	}
	if e.answers == nil {
		e.answers = map[string]*git.Answer{}
	}
	e.answers[question] = answer
	m.kept += len(answer.Body)
}

// forget drops the answers of a mirror. The caller holds Mirrors.mu.
func (m *Mirrors) forget(e *entry) {
	for _, answer := range e.answers {
		m.kept -= len(answer.Body)
	}
	e.answers = nil
}
