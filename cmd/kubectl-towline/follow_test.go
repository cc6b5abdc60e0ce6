package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
)

// soFar collects the output of a running command.
type soFar struct {
	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer.
func (s *soFar) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *soFar) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// heal makes all Applications of a stage healthy, and updates the report.
func (s *stage) heal() {
	s.t.Helper()
	for _, app := range s.apps {
		before := app.DeepCopy()
		app.Status = statusOf("Healthy")
		if err := admin.Patch(s.t.Context(), app, client.MergeFrom(before)); err != nil {
			s.t.Fatal(err)
		}
	}
	set := newApplicationSet()
	set.SetNamespace(s.namespace)
	set.SetName("guestbook")
	if err := admin.Patch(s.t.Context(), &set.Unstructured, client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))); err != nil {
		s.t.Fatal(err)
	}
	r := current(s.t, &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "guestbook"}})
	if r == nil {
		return
	}
	apps := s.apps
	s.apps = append([]*argocd.Application{}, apps[:2]...) // as in built, the cluster of the third Application is unavailable
	built := s.built()
	s.apps = apps
	r.Statuses, r.Status = built.Statuses, built.Status
	if err := admin.Update(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
}

// TestFollow checks that status -w ends after all Applications are well, from the report or from the Applications.
func TestFollow(t *testing.T) {
	for _, namespace := range []string{"follow", "follow-apps"} {
		t.Run(namespace, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, namespace)
			if namespace == "follow-apps" {
				r := &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guestbook"}}
				g.Expect(admin.Delete(t.Context(), r)).To(Succeed())
			}
			out := &soFar{}
			code := begun(t.Context(), following(t, out, "status", "guestbook", "-w", "--timeout", "30s", "-n", namespace), out)
			g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("2 stopped"))
			s.heal()
			g.Eventually(code, 20*time.Second).Should(Receive(BeZero()), out.String())
			g.Expect(out.String()).To(MatchRegexp(`(?s)✗ \S+-c2 on .*Degraded.*\n✓ \S+-c2 on \S+-c2: Synced Healthy\n`))
			g.Expect(strings.Count(out.String(), "-c1 on")).To(Equal(1), out.String())
		})
	}
}

// TestFollowEnds checks the exit code at the timeout.
func TestFollowEnds(t *testing.T) {
	newStage(t, "ends")
	if got := as(t, "", "", "status", "guestbook", "-w", "--timeout", "1s", "-n", "ends"); got.code != 2 || !strings.Contains(got.errOut, "after 1s") {
		t.Errorf("got %+v", got)
	}
	// If the time is over before the hub answers, the first read counts.
	got := as(t, "", "", "status", "guestbook", "-w", "--timeout", "1ns", "-n", "ends")
	if got.code != 2 || got.errOut != "not all is well after 1ns\n" || !strings.Contains(got.out, "2 stopped") {
		t.Errorf("got %+v", got)
	}
	may(t, "ends-tenant", "ends",
		rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: []string{"get", "list"}})
	got = as(t, "ends-tenant", "", "status", "guestbook", "-w", "--timeout", "20s", "-n", "ends")
	if got.code != 4 || !strings.Contains(got.errOut, "forbidden") {
		t.Errorf("who may not watch: %+v", got)
	}
}

// TestFollowRevision checks that healthy Applications at an old revision do not end the command with --revision.
func TestFollowRevision(t *testing.T) {
	g := NewWithT(t)
	const namespace = "follow-revision"
	s := newStage(t, namespace)
	s.heal()
	g.Expect(as(t, "", "", "status", "guestbook", "-n", namespace).code).To(Equal(exitGood))
	const pushed = "0123456789abcdef0123456789abcdef01234567"
	out := &soFar{}
	code := begun(t.Context(), following(t, out, "status", "guestbook", "-w", "--timeout", "30s", "-n", namespace, "--revision", pushed[:8]), out)
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("2 under way"))
	g.Consistently(code, 500*time.Millisecond).ShouldNot(Receive(), "it ends at the old revision")
	r := current(t, &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guestbook"}})
	for i := range r.Statuses.ClusterConditions {
		r.Statuses.ClusterConditions[i].SyncRevision = pushed
	}
	g.Expect(admin.Update(t.Context(), r)).To(Succeed())
	g.Eventually(code, 20*time.Second).Should(Receive(BeZero()), out.String())
}

// TestFollowDeleted checks that the command reports the deletion of the ApplicationSet.
func TestFollowDeleted(t *testing.T) {
	g := NewWithT(t)
	newStage(t, "follow-deleted")
	out := &soFar{}
	code := begun(t.Context(), following(t, out, "status", "guestbook", "-w", "--timeout", "30s", "-n", "follow-deleted"), out)
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("2 stopped"))
	set := newApplicationSet()
	set.SetNamespace("follow-deleted")
	set.SetName("guestbook")
	g.Expect(admin.Delete(t.Context(), &set.Unstructured)).To(Succeed())
	g.Eventually(code, 20*time.Second).Should(Receive(Equal(exitError)), out.String())
	g.Expect(out.String()).To(ContainSubstring("ApplicationSet follow-deleted/guestbook was deleted"))
}

// TestRefusedWatchEndsLate checks that a watch with an unknown user ends, but only after time for a new token.
func TestRefusedWatchEndsLate(t *testing.T) {
	r, one, other, now := &refusals{}, &toolscache.Reflector{}, &toolscache.Reflector{}, time.Now()
	expired, gone := apierrors.NewUnauthorized("the token has expired"), apierrors.NewResourceExpired("too old")
	for i, step := range []struct {
		of    *toolscache.Reflector
		err   error
		after time.Duration
		ends  bool
	}{
		{one, expired, 0, false}, {other, expired, time.Second, false}, {one, gone, time.Second, false},
		{one, expired, time.Second, true}, {one, expired, time.Hour, false}, {one, expired, time.Hour + time.Second, true},
	} {
		if got := r.again(step.of, step.err, now.Add(step.after)); got != step.ends {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

// TestFollowEvents checks that new events are printed at once.
func TestFollowEvents(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, "events")
	s.event("tool", corev1.EventTypeWarning, apis.ReasonClusterNotFound, "no cluster")
	out := &soFar{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	code := begun(ctx, following(t, out, "events", "guestbook", "-w", "-n", "events"), out)
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("REASON"))
	s.event("tool", corev1.EventTypeWarning, apis.ReasonPaused, "not of the set")
	s.event("events-c1", corev1.EventTypeNormal, apis.ReasonPropagated, "it is made")
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("it is made"))
	g.Expect(out.String()).NotTo(Or(ContainSubstring("not of the set"), ContainSubstring("no cluster")))
	stop()
	g.Eventually(code, 20*time.Second).Should(Receive(BeZero()))
}

// forgetful is a hub that has forgotten the resource version of the first watches.
type forgetful struct {
	client.WithWatch

	left atomic.Int32
}

func (c *forgetful) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	if c.left.Add(-1) < 0 {
		return c.WithWatch.Watch(ctx, list, opts...)
	}
	if c.left.Load() == 0 {
		return nil, apierrors.NewResourceExpired("too old resource version") // an error before the start of the watch
	}
	w := watch.NewFakeWithChanSize(1, false)
	w.Error(&apierrors.NewResourceExpired("too old resource version").ErrStatus)
	return w, nil
}

// TestFollowEventsAfterABreak checks that events continue after the hub has forgotten the resource version, without
// repetitions.
func TestFollowEventsAfterABreak(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, "break")
	s.event("tool", corev1.EventTypeWarning, apis.ReasonPaused, "shown before")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigOf(t))
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.NewWithWatch(config, client.Options{Scheme: admin.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	broken := &forgetful{WithWatch: c}
	broken.left.Store(2)
	out := &soFar{}
	e := &eventsOptions{scope: scope{options: newOptions(genericiooptions.IOStreams{Out: out, ErrOut: out})}}
	h := &hub{Client: broken}
	all := func(*saidEvent) bool { return true }
	list, version, err := h.events(t.Context(), "break", all)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(list).To(HaveLen(1))
	s.event("tool-2", corev1.EventTypeWarning, apis.ReasonPaused, "in the break")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.follow(ctx, h, "break", version, newSeen(list), all) }()
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("in the break"))
	s.event("tool-3", corev1.EventTypeWarning, apis.ReasonPaused, "after it")
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("after it"))
	stop()
	g.Eventually(ended, 20*time.Second).Should(Receive(BeNil()))
	g.Expect(strings.Count(out.String(), "\n")).To(Equal(2), out.String())
}

// current returns an object from the hub; nil for a missing object.
func current[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	found, err := reading.Get(t.Context(), admin, client.ObjectKeyFromObject(obj), obj)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// following returns a running command of an administrator.
func following(t *testing.T, out io.Writer, args ...string) *cobra.Command {
	t.Helper()
	cmd := newCommand(genericiooptions.IOStreams{Out: out, ErrOut: out})
	cmd.SetArgs(append([]string{"--kubeconfig", kubeconfigOf(t)}, args...))
	return cmd
}

// kubeconfigOf returns the kubeconfig of an administrator.
func kubeconfigOf(t *testing.T) string {
	t.Helper()
	u, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := u.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// begun starts a command, and returns a channel for the exit code. The command ends by itself or with ctx.
func begun(ctx context.Context, cmd *cobra.Command, out io.Writer) <-chan int {
	code := make(chan int, 1)
	go func() { code <- exitCode(cmd.ExecuteContext(ctx), out) }()
	return code
}

// TestEventsRefused checks the message and the exit code at the end of a refused watch.
func TestEventsRefused(t *testing.T) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: "events is forbidden"}
	err := came(watch.Event{Type: watch.Error, Object: &status}, nil)
	var out bytes.Buffer
	if code := exitCode(err, &out); code != exitUnread || out.String() != "error: the events cannot be watched any more: events is forbidden\n" {
		t.Errorf("%d: %s", code, out.String())
	}
}
