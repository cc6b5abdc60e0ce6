package leader

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// TestEndDuringARenewal: a leader stopped during a renewal of the Lease releases the Lease.
func TestEndDuringARenewal(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	hub := &leases{arrives: end}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lockOf(t, hub, "this one"), LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	elector.Run(ctx)
	if ctx.Err() == nil {
		t.Fatal("the Lease was never renewed")
	}
	if holder := hub.holder(); holder != "" {
		t.Errorf("%s has the Lease", holder)
	}
}

// TestLeaseOfASecondLeader: a former leader does not release the Lease of a new leader.
func TestLeaseOfASecondLeader(t *testing.T) {
	hub := &leases{}
	one, other := lockOf(t, hub, "one"), lockOf(t, hub, "other")
	if err := one.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one"}); err != nil {
		t.Fatal(err)
	}
	reread(t, other)
	// The first process is frozen in the meantime.
	if err := other.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "other"}); err != nil {
		t.Fatal(err)
	}
	reread(t, one)
	if err := one.Update(t.Context(), resourcelock.LeaderElectionRecord{}); !errors.Is(err, ErrLost) || hub.holder() != "other" {
		t.Errorf("the one gives up the Lease of %q: %v", hub.holder(), err)
	}
	if err := other.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil || hub.holder() != "" {
		t.Errorf("the other does not give up the Lease: %v", err)
	}
	reread(t, one)
	if err := one.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one"}); err != nil || hub.holder() != "one" {
		t.Errorf("the one cannot lead again: %v", err)
	}
}

// TestAFormerLeaderEndsItsElection: a leader ends after a different process has the Lease, or has had the
// Lease. The former leader's works may be old.
func TestAFormerLeaderEndsItsElection(t *testing.T) {
	for title, after := range map[string]string{"another leads": "other", "another has led, and given the Lease up": ""} {
		t.Run(title, func(t *testing.T) {
			hub := &leases{}
			server := httptest.NewServer(hub)
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
			led, ended := make(chan struct{}), make(chan struct{})
			e, err := New(kubernetes.NewForConfigOrDie(config), "argocd", func(ctx context.Context) {
				close(led)
				<-ctx.Done()
				close(ended)
			})
			if err != nil {
				t.Fatal(err)
			}
			ran := make(chan error, 1)
			go func() { ran <- e.Run(t.Context()) }()
			<-led
			other := lockOf(t, hub, "other")
			for _, holder := range []string{"other", after} { // The leader is frozen in the meantime.
				err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // The leader may renew the Lease in between.
					reread(t, other)
					other.held = true
					return other.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: holder})
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-ran:
				if !errors.Is(err, ErrLost) || hub.holder() != after {
					t.Errorf("%v, and %q has the Lease", err, hub.holder())
				}
			case <-time.After(renewDeadline / 2):
				t.Fatal("it goes on")
			}
			<-ended
			if e.MayWrite() == nil {
				t.Error("it may write")
			}
		})
	}
}

// reread makes a lock read the Lease.
func reread(t *testing.T, l *lock) {
	t.Helper()
	if _, _, err := l.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// lockOf returns the Lease of a fake API server as a lock for the process with the identity.
func lockOf(t *testing.T, hub *leases, identity string) *lock {
	t.Helper()
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	return newLock(kubernetes.NewForConfigOrDie(config), "argocd", identity)
}

// leases is a fake API server with a single Lease. The server calls arrives at the first renewal. The server then
// delays the first renewal for a moment, or until a read of the Lease.
type leases struct {
	arrives func()

	mu      sync.Mutex
	lease   coordinationv1.Lease
	renewal *coordinationv1.Lease
}

// ServeHTTP implements http.Handler.
func (l *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := &coordinationv1.Lease{}
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	if l.arrives != nil && l.isFirstRenewal(sent) {
		l.arrives()
		<-time.After(100 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var answer any = l.lease
	switch {
	case r.Method == http.MethodGet && l.lease.ResourceVersion == "":
		answer = apierrors.NewNotFound(schema.GroupResource{}, "it").Status()
	case r.Method == http.MethodGet && l.renewal != nil:
		l.write(l.renewal)
	case r.Method == http.MethodGet:
	case l.write(sent):
		answer = l.lease
	default:
		answer = apierrors.NewConflict(schema.GroupResource{}, "it", errors.New("it has changed")).Status()
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if status, ok := answer.(metav1.Status); ok {
		w.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// holder returns the identity of the Lease's holder, or an empty string.
func (l *leases) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ptr.Deref(l.lease.Spec.HolderIdentity, "")
}

// isFirstRenewal tells whether a request is the first renewal of the Lease, and remembers the renewal.
func (l *leases) isFirstRenewal(sent *coordinationv1.Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.ResourceVersion == "" || l.renewal != nil {
		return false
	}
	l.renewal = sent
	return true
}

// write creates or updates the Lease, and returns false for a request with an outdated resourceVersion.
func (l *leases) write(sent *coordinationv1.Lease) bool {
	if sent.ResourceVersion != l.lease.ResourceVersion {
		return false
	}
	l.lease = *sent
	l.lease.ResourceVersion += "1"
	return true
}
