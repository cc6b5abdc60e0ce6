package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/towline-io/towline/cmd/towline-source/internal/credential"
	"github.com/towline-io/towline/cmd/towline-source/internal/git"
)

// A Repository is a repository on a Git server, with the hub's access.
type Repository struct {
	// Address is the address of the repository.
	Address string

	// Credential is the hub's access. Repositories with different credentials have different mirrors, even at the same
	// address: a project without a credential must not read the content of a different project's mirror.
	Credential credential.Credential

	// References are the full references besides branches and tags that the reader sees.
	References []string

	// Commits are commits that the reader may read, also if they are on no branch and no tag.
	Commits []string
}

// key identifies the mirror of the repository.
func (r Repository) key() string {
	sum := sha256.Sum256([]byte(r.Address + "\x00" + strings.Join(r.Credential.Secrets, "\x00")))
	return hex.EncodeToString(sum[:])[:32]
}

// Options are the limits of Mirrors.
type Options struct {
	// Dir is the folder of the mirrors. Its content may be lost at any time.
	Dir string

	// Keep is how long references are answered without a look at the Git server.
	Keep time.Duration

	// MaxBytes is the maximum size of a mirror, and MaxTotal the maximum size of all mirrors.
	MaxBytes, MaxTotal int64

	// LookTimeout and FetchTimeout are the maximum times for reading references and for a fetch.
	LookTimeout, FetchTimeout time.Duration

	// OnFailure is called after each failed look at a Git server, with the address of the repository; nil for nothing. The
	// requests that caused the look may have ended before.
	OnFailure func(address string, err error)
}

var (
	// ErrTooLarge means that a repository is larger than MaxBytes.
	ErrTooLarge = errors.New("the repository is too large")

	// ErrNoAnswer means that the Git server did not answer in time.
	ErrNoAnswer = errors.New("the Git server did not answer in time")
)

// A LookError is the failure of a look at a Git server. Options.OnFailure has got the failure.
type LookError struct{ err error }

func (e *LookError) Error() string { return e.err.Error() }

// Unwrap returns the reason of the failure.
func (e *LookError) Unwrap() error { return e.err }

// Mirrors are the mirrors of a process.
type Mirrors struct {
	Options

	now   func() time.Time
	group singleflight.Group

	mu      sync.Mutex
	entries map[string]*entry
	stale   map[string]time.Time // by address: the time of the last hint about a change
	kept    int                  // the bytes of all kept answers
}

// An entry is the state of a mirror. The fields below mu belong to Mirrors.mu.
type entry struct {
	git.Mirror

	// using is locked for reading while the mirror serves, and for writing while the mirror is packed or removed.
	using sync.RWMutex

	address string
	state   State
	digest  string
	begun   time.Time // the start of the last successful look at the Git server
	used    time.Time

	// references are the full references of all Repositories with this mirror. So a fetch for a Repository keeps the
	// references of the other Repositories. asked counts the additions, and looked is asked at the last successful look.
	references    map[string]bool
	asked, looked int

	// answers are the kept answers about the references, by the question.
	answers map[string]*git.Answer
}

// maxReferences is the maximum number of references in an entry. More references would not fit into a command of git.
const maxReferences = 256

// State is the last known state of a mirror.
type State struct {
	// Checked is the end of the last look at the Git server, and Err the result.
	Checked time.Time
	Err     error

	// Fetched is the time of the last fetch of a change; zero for none.
	Fetched time.Time

	// References and Bytes are the number of references, and the size on the disk.
	References int
	Bytes      int64

	// further are the references besides branches and tags.
	further []string
}

// New returns mirrors in a folder. The mirrors of an earlier process are removed: their state is not known.
func New(o Options) (*Mirrors, error) {
	m := &Mirrors{Options: o, now: time.Now, entries: map[string]*entry{}, stale: map[string]time.Time{}}
	for _, dir := range []string{m.root(), m.keys()} {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Mirrors) root() string { return filepath.Join(m.Dir, "mirrors") }

// keys is the folder for the files of credentials during a command of git.
func (m *Mirrors) keys() string { return filepath.Join(m.Dir, "keys") }

// Stale makes the next read of a repository look at the Git server, even if the last look was a moment ago.
func (m *Mirrors) Stale(address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale[address] = m.now()
}

// State returns the state of a repository's mirror, and whether the mirror exists.
func (m *Mirrors) State(r Repository) (State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[r.key()]
	if !ok {
		return State{}, false
	}
	return e.state, true
}

// A Place takes a place for a process of git, and returns the function that gives the place back. A look at a Git server
// takes no place.
type Place func(context.Context) (done func(), err error)

// Use calls serve with a mirror that is as new as the Git server. Wanted are commits that the mirror must have: without
// a wanted commit, Use looks at the Git server again, because a second process of towline-source may have answered the
// request for the references. Use returns the error of the look, of place, or of serve.
func (m *Mirrors) Use(ctx context.Context, r Repository, wanted []string, place Place, serve func(git.Mirror) error) error {
	e, err := m.current(ctx, r)
	if err != nil {
		return err
	}
	served, err := m.serve(ctx, e, r, wanted, place, serve)
	if served || err != nil {
		return err
	}
	m.Stale(r.Address)
	if err := m.refresh(ctx, e, r); err != nil {
		return err
	}
	unnamed := func(commit string) bool { return !slices.Contains(r.Commits, commit) }
	if commits := slices.DeleteFunc(slices.Clone(wanted), unnamed); len(commits) > 0 && !e.Has(ctx, commits) {
		if err := m.fetchCommits(ctx, e, r, commits); err != nil {
			return err
		}
	}
	_, err = m.serve(ctx, e, r, nil, place, serve)
	return err
}

// current returns the entry of a repository, as new as the Git server.
func (m *Mirrors) current(ctx context.Context, r Repository) (*entry, error) {
	e := m.entry(r)
	if m.fresh(e, r) {
		return e, nil
	}
	return e, m.refresh(ctx, e, r)
}

// serve calls serve at a place, unless the mirror lacks a wanted commit.
func (m *Mirrors) serve(
	ctx context.Context, e *entry, r Repository, wanted []string, place Place, serve func(git.Mirror) error,
) (served bool, err error) {
	done, err := place(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	e.using.RLock()
	defer e.using.RUnlock()
	if len(wanted) > 0 && !e.Has(ctx, wanted) {
		return false, nil
	}
	return true, serve(m.view(e, r))
}

// view returns the mirror as the reader of the repository sees the mirror.
func (m *Mirrors) view(e *entry, r Repository) git.Mirror {
	m.mu.Lock()
	defer m.mu.Unlock()
	hidden := func(ref string) bool { return !slices.Contains(e.state.further, ref) }
	return git.Mirror{Dir: e.Dir, Shown: slices.DeleteFunc(slices.Clone(r.References), hidden)}
}

func (m *Mirrors) entry(r Repository) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[r.key()]
	if !ok {
		e = &entry{Mirror: git.Mirror{Dir: filepath.Join(m.root(), r.key()+".git")}, address: r.Address}
		m.entries[r.key()] = e
	}
	e.used = m.now()
	e.ask(r.References)
	return e
}

// ask adds references to the entry. The caller holds Mirrors.mu.
func (e *entry) ask(references []string) {
	for _, ref := range references {
		if e.references[ref] {
			continue
		}
		if len(e.references) >= maxReferences || e.references == nil {
			e.references = map[string]bool{}
		}
		e.references[ref] = true
		e.asked++
	}
}

// fresh returns whether the mirror answers without a look at the Git server.
func (m *Mirrors) fresh(e *entry, r Repository) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.state.Err == nil && !e.begun.IsZero() && e.looked == e.asked && m.now().Sub(e.begun) < m.Keep && m.stale[r.Address].Before(e.begun)
}

// refresh looks at the Git server, and fetches a change. Requests at the same time share a look. The end of a request
// does not end the look of the others. A fetch may take longer than a client waits. So after a failed look, refresh returns
// the failure if the next look has no result after LookTimeout: a Git server that hangs in each fetch fails for the client.
func (m *Mirrors) refresh(ctx context.Context, e *entry, r Repository) error {
	var late <-chan time.Time
	failure := m.failure(e)
	if failure != nil {
		late = time.After(m.LookTimeout)
	}
	for range 2 { // a shared look may have begun before the hint about a change
		asked := m.now()
		done := m.group.DoChan(r.key(), func() (any, error) { return m.look(context.WithoutCancel(ctx), e, r) })
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return failure
		case result := <-done:
			if result.Err != nil {
				return result.Err
			}
			if began := result.Val.(time.Time); !began.Before(asked) || m.fresh(e, r) {
				return nil
			}
		}
	}
	return nil
}

// failure returns the error of the last look.
func (m *Mirrors) failure(e *entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return e.state.Err
}

// look makes the mirror equal to the repository, and returns the start of the look.
func (m *Mirrors) look(ctx context.Context, e *entry, r Repository) (time.Time, error) {
	began := m.now()
	m.mu.Lock()
	asked, references := e.asked, slices.Sorted(maps.Keys(e.references))
	m.mu.Unlock()
	state, digest, err := m.update(ctx, e, r, references)
	err = m.noted(r, err)
	m.mu.Lock()
	e.state, e.state.Checked, e.state.Err = state, m.now(), err
	if err == nil {
		if e.digest != digest {
			m.forget(e)
		}
		e.begun, e.digest, e.looked = began, digest, asked
	}
	m.mu.Unlock()
	if err == nil && state.Fetched.After(began) {
		m.tidy(ctx, e)
	}
	return began, err
}

// noted returns the failure of a look as a LookError, after a call of OnFailure.
func (m *Mirrors) noted(r Repository, err error) error {
	if err == nil {
		return nil
	}
	err = &LookError{err}
	if m.OnFailure != nil {
		m.OnFailure(r.Address, err)
	}
	return err
}

// update reads the references of the repository, and fetches the content if the references differ from the mirror's.
func (m *Mirrors) update(ctx context.Context, e *entry, r Repository, references []string) (State, string, error) {
	m.mu.Lock()
	state, before := e.state, e.digest
	m.mu.Unlock()
	remote, forget, err := m.remote(r)
	if err != nil {
		return state, before, err
	}
	defer forget()
	lookCtx, cancel := context.WithTimeoutCause(ctx, m.LookTimeout, fmt.Errorf("%w: %s", ErrNoAnswer, m.LookTimeout))
	defer cancel()
	refs, err := git.ReadRefs(lookCtx, remote, references)
	if err != nil {
		return state, before, err
	}
	digest := refs.Digest()
	if digest == before {
		return state, before, nil
	}
	if err := e.Create(ctx); err != nil {
		return state, before, err
	}
	if err := m.fetch(ctx, e, func(ctx context.Context) error { return e.Fetch(ctx, remote, refs, references) }); err != nil {
		return state, before, err
	}
	state.References, state.Fetched, state.further = refs.Len(), m.now(), refs.Only(references)
	if state.Bytes, err = e.Size(); err != nil {
		return state, before, err
	}
	return state, digest, nil
}

// remote returns the repository on the Git server, and a function that removes the files with the credential.
func (m *Mirrors) remote(r Repository) (_ git.Remote, forget func(), err error) {
	secrets, err := os.MkdirTemp(m.keys(), "")
	if err != nil {
		return git.Remote{}, nil, err
	}
	forget = func() { _ = os.RemoveAll(secrets) }
	env, err := r.Credential.Environment(r.Address, secrets)
	if err != nil {
		forget()
	}
	return git.Remote{URL: r.Address, Env: env}, forget, err
}

// fetchCommits fetches commits that the mirror lacks. Requests at the same time share a fetch. The end of a request does not
// end the fetch of the others.
func (m *Mirrors) fetchCommits(ctx context.Context, e *entry, r Repository, commits []string) error {
	done := m.group.DoChan(r.key()+"\x00"+strings.Join(commits, " "), func() (any, error) {
		remote, forget, err := m.remote(r)
		if err != nil {
			return nil, m.noted(r, err)
		}
		defer forget()
		err = m.fetch(context.WithoutCancel(ctx), e, func(ctx context.Context) error { return e.FetchCommits(ctx, remote, commits) })
		return nil, m.noted(r, err)
	})
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case result := <-done:
		return result.Err
	}
}

// fetch calls do, which fetches a change, and gives up when the mirror exceeds the limit, or after FetchTimeout.
func (m *Mirrors) fetch(ctx context.Context, e *entry, do func(context.Context) error) error {
	ctx, stop := context.WithTimeoutCause(ctx, m.FetchTimeout, fmt.Errorf("%w: %s", ErrNoAnswer, m.FetchTimeout))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if m.tooLarge(e) {
					cancel(ErrTooLarge)
					return
				}
			}
		}
	}()
	err := do(ctx)
	cancel(nil)
	<-watched
	if errors.Is(err, ErrTooLarge) || m.tooLarge(e) {
		m.remove(e)
		return fmt.Errorf("%w: the limit is %d MiB (--max-repository-bytes)", ErrTooLarge, m.MaxBytes>>20)
	}
	return err
}

func (m *Mirrors) tooLarge(e *entry) bool {
	size, err := e.Size()
	return err == nil && size > m.MaxBytes
}

// remove removes the content of a mirror, after the end of the requests that use the mirror.
func (m *Mirrors) remove(e *entry) {
	e.using.Lock()
	defer e.using.Unlock()
	m.mu.Lock()
	m.forget(e)
	e.digest, e.begun, e.state.Bytes = "", time.Time{}, 0
	m.mu.Unlock()
	_ = os.RemoveAll(e.Dir) // a rest is overwritten by the next fetch
}

// tidy packs the objects of a mirror from time to time, and removes the mirrors that were not used for the longest time
// while all mirrors exceed the limit.
func (m *Mirrors) tidy(ctx context.Context, e *entry) {
	if e.using.TryLock() {
		_ = e.Pack(ctx) // a mirror that is not packed is only larger
		e.using.Unlock()
	}
	for _, old := range m.surplus(e) {
		m.remove(old)
	}
}

// surplus returns the mirrors to remove, but never the given mirror.
func (m *Mirrors) surplus(keep *entry) []*entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	var total int64
	var all []*entry
	for _, e := range m.entries {
		total += e.state.Bytes
		if e != keep && e.state.Bytes > 0 {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return a.used.Compare(b.used) })
	n := 0
	for ; n < len(all) && total > m.MaxTotal; n++ {
		total -= all[n].state.Bytes
	}
	return all[:n]
}
