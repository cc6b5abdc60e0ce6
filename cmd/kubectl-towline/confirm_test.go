package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestAnswersInAPipe checks that each prompt reads its own line from a pipe.
func TestAnswersInAPipe(t *testing.T) {
	space(t, "piped")
	one := app(t, fixture.Application("one").Namespace("piped").Cluster("c1"))
	two := app(t, fixture.Application("two").Namespace("piped").Cluster("c1"))
	s := as(t, "", "n\ny\n", "delete", "one", "two", "-n", "piped")
	if s.code != exitError || now(t, one).DeletionTimestamp != nil || now(t, two) != nil {
		t.Errorf("got %+v", s)
	}
}

// TestInterruptedPrompt checks that Ctrl-C at a prompt ends the command, without another prompt or write.
func TestInterruptedPrompt(t *testing.T) {
	space(t, "interrupted")
	one := app(t, fixture.Application("one").Namespace("interrupted").Cluster("c1"))
	two := app(t, fixture.Application("two").Namespace("interrupted").Cluster("c1"))
	in, typed := io.Pipe() // no answer comes
	defer typed.Close()
	out := &soFar{}
	cmd := newCommand(genericiooptions.IOStreams{In: in, Out: out, ErrOut: out})
	cmd.SetArgs([]string{"--kubeconfig", kubeconfigOf(t), "delete", "one", "two", "-n", "interrupted"})
	ctx, interrupt := context.WithCancel(t.Context())
	code := begun(ctx, cmd, out)
	NewWithT(t).Eventually(out.String, 20*time.Second, time.Millisecond).Should(ContainSubstring("[y/N]"))
	interrupt()
	select {
	case got := <-code:
		if got != exitError || strings.Count(out.String(), "[y/N]") != 1 || !strings.Contains(out.String(), "interrupted, and not written") {
			t.Errorf("%d: %s", got, out.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("it goes on: %s", out.String())
	}
	if now(t, one).DeletionTimestamp != nil || now(t, two).DeletionTimestamp != nil {
		t.Error("it was deleted")
	}
}

// TestMoveAsks checks that a move asks for confirmation only if the move destroys objects.
func TestMoveAsks(t *testing.T) {
	space(t, "moves")
	accepted(t, "moves-c2")
	for name, tc := range map[string]struct {
		app   *fixture.ApplicationBuilder
		args  []string
		in    string
		asks  bool
		moves bool
	}{
		"no":      {app: fixture.Application("no").Finalizers(apis.FinalizerResources), asks: true},
		"yes":     {app: fixture.Application("yes").Finalizers(apis.FinalizerResources), in: "y\n", asks: true, moves: true},
		"flag":    {app: fixture.Application("flag").Finalizers(apis.FinalizerResources), args: []string{"--yes"}, moves: true},
		"dry":     {app: fixture.Application("dry").Finalizers(apis.FinalizerResources), args: []string{"--dry-run=server"}},
		"nothing": {app: fixture.Application("nothing"), moves: true},
	} {
		one := app(t, tc.app.Namespace("moves").Cluster("moves-c1"))
		s := as(t, "", tc.in, append([]string{"move", name, "--to", "moves-c2", "-n", "moves"}, tc.args...)...)
		if moved := now(t, one).Cluster() == "moves-c2"; moved != tc.moves || strings.Contains(s.errOut, "[y/N]") != tc.asks {
			t.Errorf("%s: moved: %t, %+v", name, moved, s)
		}
	}
}

// TestWaitsSideBySide checks that a slow Application does not delay the requests for others. The outcomes are in the
// order of the names.
func TestWaitsSideBySide(t *testing.T) {
	space(t, "beside")
	g := NewWithT(t)
	slow := app(t, fixture.Application("slow").Namespace("beside"))
	app(t, fixture.Application("quick").Namespace("beside").Condition(apis.ConditionPausedWarning, "paused by the test"))
	out := &soFar{}
	code := begun(t.Context(), following(t, out, "pause", "slow", "quick", "-n", "beside", "--wait", "--timeout", "1m"), out)
	g.Eventually(out.String, 20*time.Second, 20*time.Millisecond).Should(ContainSubstring("✓ beside/quick: paused by the test"))
	g.Expect(out.String()).NotTo(ContainSubstring("beside/slow"))
	said := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"conditions":[{"type":"`+apis.ConditionPausedWarning+
		`","message":"paused at last","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`))
	g.Expect(admin.Patch(t.Context(), slow.DeepCopy(), said)).To(Succeed())
	g.Eventually(code, 20*time.Second).Should(Receive(Equal(exitGood)))
	g.Expect(out.String()).To(ContainSubstring("✓ beside/slow: paused at last"))
	s := as(t, "", "", "resume", "slow", "quick", "-n", "beside", "--wait", "--timeout", "100ms", "-o", "name")
	if want := "applications.argoproj.io/beside/slow\napplications.argoproj.io/beside/quick\n"; s.out != want {
		t.Errorf("got %+v", s)
	}
}

// TestPauseOfNoCluster checks that the namespace of a missing cluster cannot be paused, but can be resumed.
func TestPauseOfNoCluster(t *testing.T) {
	space(t, "no-cluster")
	s := as(t, "", "", "pause", "--cluster", "no-cluster")
	namespace := &corev1.Namespace{}
	namespace.Name = "no-cluster"
	if got := now(t, namespace); s.code != exitBlocked || got.Annotations[apis.AnnotationPaused] != "" ||
		!strings.Contains(s.out, "ManagedCluster no-cluster does not exist") || !strings.Contains(s.out, "kubectl get managedclusters") {
		t.Errorf("%+v, %+v", s, got.Annotations)
	}
	if s = as(t, "", "", "resume", "--cluster", "no-cluster"); s.code != exitGood {
		t.Errorf("got %+v", s)
	}
}
