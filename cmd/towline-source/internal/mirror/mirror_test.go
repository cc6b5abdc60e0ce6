package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/cmd/towline-source/internal/credential"
	"github.com/towline-io/towline/cmd/towline-source/internal/git"
	"github.com/towline-io/towline/cmd/towline-source/internal/gittest"
	"github.com/towline-io/towline/pkg/apis"
)

// unlimited are places without a limit.
func unlimited(context.Context) (func(), error) { return func() {}, nil }

// world is mirrors with a clock of the test, and a repository.
type world struct {
	*testing.T
	*Mirrors

	server *gittest.Server
	repo   Repository

	mu    sync.Mutex
	clock time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, server: gittest.New(t), clock: time.Unix(1_700_000_000, 0)}
	mirrors, err := New(Options{
		Dir: t.TempDir(), Keep: 3 * time.Second, MaxBytes: 1 << 20, MaxTotal: 1 << 20, LookTimeout: 30 * time.Second, FetchTimeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Mirrors = mirrors
	w.now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.clock = w.clock.Add(time.Millisecond) // no two events at the same time
		return w.clock
	}
	w.repo = Repository{Address: w.server.URL, Credential: access(t, w.server.URL)}
	return w
}

func access(t *testing.T, url string) credential.Credential {
	t.Helper()
	out, err := credential.For("default", url, []corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeRepository}},
		Data:       map[string][]byte{"url": []byte(url), "username": []byte(gittest.User), "password": []byte(gittest.Password)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// main returns the commit of a branch in the mirror.
func (w *world) main(wanted ...string) (out string, err error) {
	err = w.Use(w.Context(), w.repo, wanted, unlimited, func(m git.Mirror) error {
		out = strings.TrimSpace(gittest.Git(w.T, m.Dir, "rev-parse", "HEAD"))
		return nil
	})
	return out, err
}

func (w *world) expect(commit string, looks, packs int32) {
	w.Helper()
	got, err := w.main()
	if err != nil || got != commit {
		w.Errorf("HEAD of the mirror is %s, not %s: %v", got, commit, err)
	}
	if w.server.Refs.Load() != looks || w.server.Packs.Load() != packs {
		w.Errorf("%d looks and %d packs, not %d and %d", w.server.Refs.Load(), w.server.Packs.Load(), looks, packs)
	}
}

// Git's protocol 2 asks for references with a POST, which the server counts as a pack: a look at the server is a request
// of each kind, and a fetch is a look and a request for the pack.
func TestFreshness(t *testing.T) {
	w := newWorld(t)
	first := w.server.Push("HEAD:refs/heads/main")
	w.expect(first, 2, 3)

	second := w.server.Commit("b", "2")
	w.expect(first, 2, 3) // within Keep
	w.Stale("https://git.example.com/other")
	w.expect(first, 2, 3)
	w.Stale(w.server.URL)
	w.expect(second, 4, 6)

	w.pass(4 * time.Second)
	w.expect(second, 5, 7) // unchanged: no fetch
	w.pass(4 * time.Second)
	w.expect(w.server.Rewind(), 7, 9) // the mirror has the earlier commit
}

func TestSharedLook(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := w.main(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if w.server.Refs.Load() > 4 {
		t.Errorf("20 requests at the same time looked %d times", w.server.Refs.Load())
	}
}

// A second process answered the request for the references, and has seen a newer commit.
func TestWantedCommit(t *testing.T) {
	w := newWorld(t)
	if _, err := w.main(); err != nil {
		t.Fatal(err)
	}
	second := w.server.Commit("b", "2")
	if got, err := w.main(second); err != nil || got != second {
		t.Errorf("the mirror has %s, without the wanted commit: %v", got, err)
	}
}

func TestServerDown(t *testing.T) {
	w := newWorld(t)
	if _, err := w.main(); err != nil {
		t.Fatal(err)
	}
	w.server.Down.Store(true)
	w.pass(4 * time.Second)
	_, err := w.main()
	var failed *git.Error
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "503") || strings.Contains(err.Error(), gittest.Password) {
		t.Errorf("the error is %v", err)
	}
	state, ok := w.State(w.repo)
	if !ok || state.Err == nil || state.Bytes == 0 || state.References == 0 {
		t.Errorf("the state is %+v", state)
	}
	w.server.Down.Store(false)
	if _, err := w.main(); err != nil {
		t.Error(err)
	}
}

// TestServerHangs: a look ends in time, with the processes of git, and the failure is noted, also if the client has left.
func TestServerHangs(t *testing.T) {
	w := newWorld(t)
	w.LookTimeout = 300 * time.Millisecond
	noted := make(chan error, 2)
	w.OnFailure = func(address string, err error) {
		if address != w.server.URL {
			t.Errorf("the address is %s", address)
		}
		noted <- err
	}
	w.server.Hang.Store(true)
	began := time.Now()
	if _, err := w.main(); !errors.Is(err, ErrNoAnswer) || !errors.Is(<-noted, err) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(began); took > 4*time.Second { // a child of git would hold the output for five seconds
		t.Errorf("the look took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Use(ctx, w.repo, nil, unlimited, func(git.Mirror) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if err := <-noted; !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the noted error is %v", err)
	}
}

// TestFetchHangs: after the failure of a fetch, the next request does not wait for the end of the next fetch.
func TestFetchHangs(t *testing.T) {
	w := newWorld(t)
	noted := make(chan error, 2)
	w.OnFailure = func(_ string, err error) { noted <- err }
	w.FetchTimeout = time.Second
	w.server.HangPacks.Store(true)
	_, first := w.main()
	if !errors.Is(first, ErrNoAnswer) || !errors.Is(<-noted, first) {
		t.Errorf("the error is %v", first)
	}
	w.LookTimeout, w.FetchTimeout = 2*time.Second, time.Hour
	if _, err := w.main(); !errors.Is(err, first) || len(noted) > 0 {
		t.Errorf("the error is %v, and %d further failures are noted", err, len(noted))
	}
	w.server.Resume()
	if err := <-noted; errors.Is(err, ErrNoAnswer) {
		t.Errorf("the noted error is %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	w := newWorld(t)
	w.MaxBytes = 100
	if _, err := w.main(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(w.Dir, "mirrors")); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v: %v", left, err)
	}
	w.MaxBytes = 1 << 20
	if _, err := w.main(); err != nil {
		t.Error(err)
	}
}

// A project without the credential must not read the mirror that a different project's credential has filled.
func TestCredentialsDoNotMix(t *testing.T) {
	w := newWorld(t)
	if _, err := w.main(); err != nil {
		t.Fatal(err)
	}
	w.repo.Credential = credential.Credential{}
	if got, err := w.main(); err == nil {
		t.Errorf("a repository without a credential returns %s", got)
	}
}

func TestSurplus(t *testing.T) {
	w := newWorld(t)
	if _, err := w.main(); err != nil {
		t.Fatal(err)
	}
	first := w.repo
	second := gittest.New(t)
	w.repo = Repository{Address: second.URL, Credential: access(t, second.URL)}
	w.MaxTotal = 1
	if _, err := w.main(); err != nil {
		t.Fatal(err)
	}
	if state, _ := w.State(first); state.Bytes != 0 {
		t.Errorf("the mirror not used for the longest time has %d bytes", state.Bytes)
	}
	w.repo = first
	if _, err := w.main(); err != nil {
		t.Error(err)
	}
}

func TestFurtherReferences(t *testing.T) {
	w := newWorld(t)
	w.server.Push("HEAD:refs/pull/7/head")
	w.repo.References = []string{"refs/pull/7/head", "refs/pull/8/head"}
	err := w.Use(w.Context(), w.repo, nil, unlimited, func(m git.Mirror) error {
		gittest.Git(t, m.Dir, "rev-parse", "refs/pull/7/head")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReferencesOfTwoClusters: a second cluster with further references sees them at once, and neither cluster makes the
// other's look a change.
func TestReferencesOfTwoClusters(t *testing.T) {
	w := newWorld(t)
	w.server.Push("HEAD:refs/pull/7/head")
	use := func(references ...string) {
		t.Helper()
		repo := w.repo
		repo.References = references
		err := w.Use(t.Context(), repo, nil, unlimited, func(m git.Mirror) error {
			for _, ref := range references {
				gittest.Git(t, m.Dir, "rev-parse", ref)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	use()
	use("refs/pull/7/head") // within Keep
	state, _ := w.State(w.repo)
	for range 3 {
		w.pass(4 * time.Second)
		use()
		w.pass(4 * time.Second)
		use("refs/pull/7/head")
	}
	if now, _ := w.State(w.repo); !now.Fetched.Equal(state.Fetched) || now.Checked.Equal(state.Checked) {
		t.Errorf("the state was %+v, and is %+v", state, now)
	}
	for i := range 2 * maxReferences {
		w.entry(Repository{Address: w.repo.Address, Credential: w.repo.Credential, References: []string{fmt.Sprintf("refs/pull/%d/head", i)}})
	}
	if e := w.entry(w.repo); len(e.references) > maxReferences {
		t.Errorf("the mirror has %d references", len(e.references))
	}
}

// TestAnswers: an answer about the references is read once, until the references change.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	reads := 0
	ask := func(question string, length int) string {
		t.Helper()
		out, err := w.Answer(t.Context(), w.repo, question, unlimited, func(ctx context.Context, m git.Mirror) (*git.Answer, error) {
			reads++
			head, err := gittest.Try(ctx, m.Dir, "rev-parse", "HEAD")
			return &git.Answer{Body: []byte(head + question + strings.Repeat(" ", length))}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out.Body))
	}
	first := ask("a", 0)
	if ask("a", 0) != first || reads != 1 || ask("b", 0) == first || reads != 2 {
		t.Errorf("%d reads", reads)
	}
	second := w.server.Commit("b", "2")
	w.pass(4 * time.Second)
	if got := ask("a", 0); got != second+"\na" || reads != 3 {
		t.Errorf("after a commit, the answer is %q with %d reads", got, reads)
	}
	for i := range 3 * maxAnswers {
		ask(fmt.Sprint(i), git.MaxAnswer/2)
	}
	kept := 0
	for _, e := range w.entries {
		for _, answer := range e.answers {
			kept += len(answer.Body)
		}
	}
	if kept != w.kept || kept > maxKept || kept == 0 {
		t.Errorf("%d bytes are kept, and %d counted", kept, w.kept)
	}
	failing := errors.New("broken")
	_, err := w.Answer(t.Context(), w.repo, "fails", unlimited, func(context.Context, git.Mirror) (*git.Answer, error) { return nil, failing })
	if !errors.Is(err, failing) {
		t.Errorf("the error is %v", err)
	}
}

// The end of a request must not end the look of the other requests.
func TestClientLeaves(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Use(ctx, w.repo, nil, unlimited, func(git.Mirror) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if _, err := w.main(); err != nil {
		t.Error(err)
	}
}

// TestPlaces: a look at the Git server takes no place. A slow Git server would otherwise hold the places of a cluster, and
// the places of all clusters.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	var taken atomic.Int32 // the Git server asks in its own goroutine
	place := func(context.Context) (func(), error) {
		if taken.Add(1) > 1 {
			t.Error("a second place")
		}
		return func() { taken.Add(-1) }, nil
	}
	asked := func() {
		if taken.Load() > 0 {
			t.Error("a look at the Git server with a place")
		}
	}
	w.server.Asked.Store(&asked)
	missing := strings.Repeat("0", 40) // a second look follows
	if err := w.Use(t.Context(), w.repo, []string{missing}, place, func(git.Mirror) error { return nil }); err != nil {
		t.Error(err)
	}
	read := func(context.Context, git.Mirror) (*git.Answer, error) { return &git.Answer{}, nil }
	w.pass(4 * time.Second)
	if _, err := w.Answer(t.Context(), w.repo, "a", place, read); err != nil {
		t.Error(err)
	}
	if looks := w.server.Refs.Load(); looks != 4 || taken.Load() != 0 {
		t.Errorf("%d looks, and %d places are left over", looks, taken.Load())
	}
	full := errors.New("full")
	_, err := w.Answer(t.Context(), w.repo, "a", func(context.Context) (func(), error) { return nil, full }, read)
	if !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}
