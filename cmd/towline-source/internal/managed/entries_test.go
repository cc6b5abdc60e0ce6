package managed

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-logr/logr/testr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

const (
	cluster = "cluster1"
	work    = "a-00000"
	key     = "app|managed-resources|a|1.8.3.gz"
)

var app = types.NamespacedName{Namespace: "argocd", Name: "a"}

// world is a hub with an Application, delivered to cluster by work, and a Redis.
type world struct {
	*Entries
	redis     *miniredis.Miniredis
	delivered bool
	refused   bool
	fails     error
}

func (w *world) Application(_ context.Context, of, name string) (types.NamespacedName, bool, error) {
	return app, w.delivered && of == cluster && name == work, w.fails
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{redis: miniredis.RunT(t), delivered: true, refused: true}
	w.Entries = New(Options{
		Grants: w, Redis: argocache.NewRedis(argocache.Address{HostPort: w.redis.Addr()}), Home: "argocd",
		Open: func() bool { return w.refused }, MaxBytes: 1000, Log: testr.New(t),
	})
	return w
}

// text returns the entry in Redis as JSON; empty for none.
func (w *world) text(t *testing.T) string {
	t.Helper()
	data, err := w.redis.Get(key)
	if errors.Is(err, miniredis.ErrKeyNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := managedresources.Copy(strings.NewReader(data), true, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func (w *world) put(t *testing.T, text string) []byte {
	t.Helper()
	body := tree.Compress([]byte(text))
	if err := w.Put(t.Context(), cluster, work, body); err != nil {
		t.Fatal(err)
	}
	return body
}

// gone removes the entry for a reason.
func (w *world) gone(t *testing.T, reason managedresources.Reason) {
	t.Helper()
	if err := w.Remove(t.Context(), cluster, work, reason); err != nil {
		t.Fatal(err)
	}
}

const secret = `[{"kind":"Secret","name":"s","liveState":"{\"data\":{\"a\":\"c2VjcmV0\"},\"kind\":\"Secret\"}"}]`

// TestEntry: an entry lives for an hour, has no value of a Secret, and can be renewed and removed.
func TestEntry(t *testing.T) {
	w := newWorld(t)
	body := w.put(t, secret)
	if got := w.text(t); !strings.Contains(got, "++++++++") || strings.Contains(got, "c2VjcmV0") {
		t.Errorf("the entry is %s", got)
	}
	w.redis.FastForward(50 * time.Minute)
	if err := w.Renew(t.Context(), cluster, work, managedresources.DigestOf(body)); err != nil {
		t.Error(err)
	}
	w.redis.FastForward(50 * time.Minute)
	if got := w.text(t); got == "" || w.redis.TTL(key) != 10*time.Minute {
		t.Errorf("the entry is %q, for %s", got, w.redis.TTL(key))
	}
	if err := w.Renew(t.Context(), cluster, work, managedresources.DigestOf(tree.Compress([]byte("[]")))); !errors.Is(err, ErrUnknown) {
		t.Errorf("other content is renewed: %v", err)
	}
	w.redis.Del(key)
	if err := w.Renew(t.Context(), cluster, work, managedresources.DigestOf(body)); !errors.Is(err, ErrUnknown) {
		t.Errorf("a lost entry is renewed: %v", err)
	}
	w.put(t, secret)
	if err := w.Remove(t.Context(), cluster, work, ""); err != nil || w.redis.Exists(key) {
		t.Errorf("the entry is not removed: %v", err)
	}
	if keys := w.redis.Keys(); len(keys) != 0 {
		t.Errorf("left: %v", keys)
	}
	if err := w.Remove(t.Context(), cluster, work, ""); err != nil {
		t.Errorf("a second removal: %v", err)
	}
}

// TestRefusals: a request that is not permitted changes nothing.
func TestRefusals(t *testing.T) {
	for title, tc := range map[string]struct {
		change        func(*world)
		cluster, work string
		body          string
		want          error
	}{
		"another cluster":        {func(*world) {}, "cluster2", work, "[]", ErrAbsent},
		"another work":           {func(*world) {}, cluster, "b-00000", "[]", ErrAbsent},
		"no delivery":            {func(w *world) { w.delivered = false }, cluster, work, "[]", ErrAbsent},
		"a hub that is not safe": {func(w *world) { w.refused = false }, cluster, work, "[]", ErrClosed},
		"no list":                {func(*world) {}, cluster, work, "{}", ErrInvalid},
		"too much":               {func(w *world) { w.MaxBytes = 10 }, cluster, work, "[]", ErrFull},
	} {
		w := newWorld(t)
		tc.change(w)
		if err := w.Put(t.Context(), tc.cluster, tc.work, tree.Compress([]byte(tc.body))); !errors.Is(err, tc.want) {
			t.Errorf("%s: Put: %v", title, err)
		}
		if keys := w.redis.Keys(); len(keys) != 0 {
			t.Errorf("%s: wrote %v", title, keys)
		}
		if errors.Is(tc.want, ErrInvalid) || errors.Is(tc.want, ErrFull) {
			continue
		}
		if err := w.Renew(t.Context(), tc.cluster, tc.work, ""); !errors.Is(err, tc.want) {
			t.Errorf("%s: Renew: %v", title, err)
		}
		if err := w.Remove(t.Context(), tc.cluster, tc.work, managedresources.ReasonTooLarge); !errors.Is(err, tc.want) {
			t.Errorf("%s: Remove: %v", title, err)
		}
	}
}

// TestStatus: a user learns whether an entry exists, and otherwise the reason.
func TestStatus(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*testing.T, *world)
		want   managedresources.Reason
		bytes  bool
	}{
		"an entry":                 {func(t *testing.T, w *world) { w.put(t, secret) }, "", true},
		"nothing yet":              {func(*testing.T, *world) {}, managedresources.ReasonNotSent, false},
		"an entry that Redis lost": {func(t *testing.T, w *world) { w.put(t, secret); w.redis.Del(key) }, managedresources.ReasonNotSent, false},
		"an entry that expired": {func(t *testing.T, w *world) {
			w.put(t, secret)
			w.redis.FastForward(time.Hour)
		}, managedresources.ReasonNotSent, false},
		"an entry without a mark": {func(t *testing.T, w *world) { w.put(t, secret); w.redis.Del(keyOfMark(app)) }, managedresources.ReasonNotSent, false},
		"a hub that is not safe":  {func(_ *testing.T, w *world) { w.refused = false }, managedresources.ReasonClosed, false},
		"a Redis that fails":      {func(_ *testing.T, w *world) { w.redis.SetError("LOADING") }, managedresources.ReasonRedisUnavailable, false},
		"too large": {func(t *testing.T, w *world) {
			w.put(t, secret)
			w.gone(t, managedresources.ReasonTooLarge)
		}, managedresources.ReasonTooLarge, false},
		"an entry after a reason": {func(t *testing.T, w *world) {
			w.gone(t, managedresources.ReasonTooLarge)
			w.put(t, secret)
		}, "", true},
		"an end without a reason": {func(t *testing.T, w *world) { w.put(t, secret); w.gone(t, "") }, managedresources.ReasonNotSent, false},
	} {
		w, began := newWorld(t), time.Now().Add(-time.Second)
		tc.change(t, w)
		got, err := w.Status(t.Context(), cluster, work)
		if err != nil || got.Reason != tc.want || got.Bytes > 0 != tc.bytes || got.Application != app.String() {
			t.Errorf("%s: %+v, %v", title, got, err)
		}
		timed := tc.bytes || tc.want == managedresources.ReasonTooLarge
		if (got.Since != nil) != timed || timed && got.Since.Time.Before(began) {
			t.Errorf("%s: since %v", title, got.Since)
		}
		for _, other := range [][2]string{{"cluster2", work}, {cluster, "b-00000"}} {
			if got, err := w.Status(t.Context(), other[0], other[1]); !errors.Is(err, ErrAbsent) || got != (managedresources.Status{}) {
				t.Errorf("%s: %v: %+v, %v", title, other, got, err)
			}
		}
	}
}

// TestReason: the time of a reason is that of the first notice. A reason ends with the grant, and leaves an entry of the
// hub's own Argo CD alone.
func TestReason(t *testing.T) {
	w := newWorld(t)
	w.gone(t, managedresources.ReasonFull)
	first, err := w.mark(t.Context(), app)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	w.gone(t, managedresources.ReasonFull)
	if again, err := w.mark(t.Context(), app); err != nil || !again.At.Equal(first.At) {
		t.Errorf("%+v, not %+v: %v", again, first, err)
	}
	w.gone(t, managedresources.ReasonInvalid)
	if other, err := w.mark(t.Context(), app); err != nil || other.At.Equal(first.At) {
		t.Errorf("%+v like %+v: %v", other, first, err)
	}
	if err := w.Renew(t.Context(), cluster, work, ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("a reason is renewed: %v", err)
	}
	if err := w.redis.Set(key, "of the hub"); err != nil {
		t.Fatal(err)
	}
	w.delivered = false
	if err := w.look(t.Context(), app); err != nil || w.redis.Exists(keyOfMark(app)) || !w.redis.Exists(key) {
		t.Errorf("left: %v, %v", w.redis.Keys(), err)
	}
}

// TestFull: the limit counts the entries of a cluster together, and a removed entry does not count.
func TestFull(t *testing.T) {
	w := newWorld(t)
	other := types.NamespacedName{Namespace: "argocd", Name: "b"}
	if !w.sizes.reserve(cluster, other, 990, w.MaxBytes) {
		t.Fatal("an empty cluster is full")
	}
	if err := w.Put(t.Context(), cluster, work, tree.Compress([]byte("[]"))); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	w.sizes.free(cluster, other)
	w.put(t, "[]")
	w.put(t, secret)
}

// TestJudge: an entry without a grant goes, and an entry without a mark belongs to the hub's own Argo CD.
func TestJudge(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*world)
		stays  bool
	}{
		"granted":           {func(*world) {}, true},
		"no delivery":       {func(w *world) { w.delivered = false }, false},
		"not safe":          {func(w *world) { w.refused = false }, false},
		"an unknown grant":  {func(w *world) { w.fails = errors.New("no answer") }, true},
		"an entry of a hub": {func(w *world) { w.delivered = false; w.redis.Del(keyOfMark(app)) }, true},
	} {
		w := newWorld(t)
		w.put(t, secret)
		tc.change(w)
		if err := w.look(t.Context(), app); (err != nil) != (w.fails != nil) {
			t.Errorf("%s: %v", title, err)
		}
		if w.redis.Exists(key) != tc.stays {
			t.Errorf("%s: the entry stays: %t", title, !tc.stays)
		}
	}
}

// TestRun: at the start, entries without a grant go. Later, an entry goes when the grant ends. The sizes of all entries
// are known.
func TestRun(t *testing.T) {
	w := newWorld(t)
	w.put(t, secret)
	later := New(w.Options)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- later.Run(ctx, func(context.Context) bool { return true }) }()
	eventually(t, "the sizes are known", func() bool {
		later.sizes.mu.Lock()
		defer later.sizes.mu.Unlock()
		return later.sizes.known[cluster][app] > 0
	})
	if !w.redis.Exists(key) {
		t.Error("a granted entry is gone")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.delivered = false
	last := New(w.Options)
	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- last.Run(ctx, func(context.Context) bool { return true }) }()
	eventually(t, "an old entry goes", func() bool { return !w.redis.Exists(key) })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	check := func(context.Context) (bool, error) { return is(), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, check); err != nil {
		t.Fatalf("not reached: %s", what)
	}
}
