package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
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
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// TestEndDuringARenewal checks that a leader releases the Lease even if the leader ends during a renewal.
func TestEndDuringARenewal(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	hub := &leases{arrives: end}
	l := lockOf(t, hub, "this one")
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: time.Millisecond, ReleaseOnCancel: true,
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
	if !l.tenure.isOver() {
		t.Error("it may still write")
	}
}

// TestLeaseOfASecondLeader checks a leader that reads a different holder. The leader loses the Lease at once, and does
// not release the Lease of the new holder.
func TestLeaseOfASecondLeader(t *testing.T) {
	hub := &leases{}
	one, other := lockOf(t, hub, "one"), lockOf(t, hub, "other")
	var lost []string
	one.lost = func(error) { lost = append(lost, "one") }
	other.lost = func(error) { lost = append(lost, "other") }
	take := func(l *lock) {
		t.Helper()
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one"}); err != nil {
		t.Fatal(err)
	}
	other.reread(t)
	if one.tenure.isOver() || len(lost) > 0 {
		t.Fatalf("lost by %v, who may write: %t", lost, !one.tenure.isOver())
	}
	take(other) // while the first process is frozen
	one.reread(t)
	if !one.tenure.isOver() || !slices.Equal(lost, []string{"one"}) {
		t.Errorf("lost by %v, and the one may write: %t", lost, !one.tenure.isOver())
	}
	if err := one.Update(t.Context(), resourcelock.LeaderElectionRecord{}); !errors.Is(err, errNotLeading) || hub.holder() != "other" {
		t.Errorf("the one gives up the Lease of %q: %v", hub.holder(), err)
	}
	if err := other.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil || hub.holder() != "" {
		t.Errorf("the other does not give up the Lease: %v", err)
	}
	take(one.reread(t))
	if one.tenure.isOver() || len(lost) != 1 {
		t.Errorf("lost by %v, and the one, which leads again, may write: %t", lost, !one.tenure.isOver())
	}
	take(other.reread(t)) // while the first process is frozen again
	if err := other.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	one.reread(t)
	if !one.tenure.isOver() || len(lost) != 2 {
		t.Errorf("lost by %v, and the one, which another has followed, may write: %t", lost, !one.tenure.isOver())
	}
}

// TestLeaseOfARestartedContainer checks a process that ends without a release of the Lease. The next process of the same
// pod leads at once. A process of a different pod has a different name in the Lease, and waits.
func TestLeaseOfARestartedContainer(t *testing.T) {
	hub := &leases{}
	killed := openLock(t, hub, "pod-1")
	if err := killed.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: killed.Identity(), LeaseDurationSeconds: 3600}); err != nil {
		t.Fatal(err)
	}
	if other := openLock(t, hub, "pod-2"); other.Identity() == killed.Identity() {
		t.Fatalf("two pods share the name %s", other.Identity())
	}
	if one, other := openLock(t, hub, ""), openLock(t, hub, ""); one.Identity() == other.Identity() {
		t.Fatalf("two processes without a pod share the name %s", one.Identity())
	}
	restarted := openLock(t, hub, "pod-1")
	restarted.lost = func(err error) { t.Error(err) }
	ctx, end := context.WithTimeout(t.Context(), leaseDuration/2)
	defer end()
	leads := false
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: restarted, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads = true; end() }, OnStoppedLeading: func() {},
		},
	})
	if !leads || hub.holder() != "" {
		t.Errorf("the restarted process leads: %t; holder after its end: %q", leads, hub.holder())
	}
}

// openLock opens the lock of a process in a pod.
func openLock(t *testing.T, hub *leases, podUID string) *lock {
	t.Helper()
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	l, m := &lock{tenure: newTenure()}, ctrl.Options{}
	elect(&m, parse(t, "--argocd-namespace=argocd"))
	if err := l.open(config, noEvents{}, m, podUID); err != nil {
		t.Fatal(err)
	}
	return l
}

// noEvents drops all events.
type noEvents struct{ recorder.Provider }

// GetEventRecorderFor implements recorder.Provider.
func (noEvents) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// reread reads the Lease into the lock.
func (l *lock) reread(t *testing.T) *lock {
	t.Helper()
	if _, _, err := l.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// lockOf returns the lock of a process on an API server.
func lockOf(t *testing.T, hub *leases, identity string) *lock {
	t.Helper()
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, Timeout: renewDeadline / 2, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	return &lock{tenure: newTenure(), Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "argocd", Name: leaseName},
		Client:     kubernetes.NewForConfigOrDie(config).CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}
}

// leases is an API server with a single Lease. During the first renewal, leases calls arrives. It completes the
// renewal after a read of the Lease, or else after a moment.
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

// holder returns the holder of the Lease.
func (l *leases) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ptr.Deref(l.lease.Spec.HolderIdentity, "")
}

// isFirstRenewal reports whether the request is the first renewal of the Lease.
func (l *leases) isFirstRenewal(sent *coordinationv1.Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.ResourceVersion == "" || l.renewal != nil {
		return false
	}
	l.renewal = sent
	return true
}

// write creates or updates the Lease, if the writer has read the present version.
func (l *leases) write(sent *coordinationv1.Lease) bool {
	if sent.ResourceVersion != l.lease.ResourceVersion {
		return false
	}
	l.lease = *sent
	l.lease.ResourceVersion += "1"
	return true
}
