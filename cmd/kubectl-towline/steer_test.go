package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/reading"
)

// space creates a namespace for a test.
func space(t *testing.T, name string) {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// app creates an Application.
func app(t *testing.T, b *fixture.ApplicationBuilder) *argocd.Application {
	t.Helper()
	a := b.UID("").Obj()
	create(t, a)
	return a
}

// now returns the present object; nil for a missing object.
func now[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	into, err := reading.Get(t.Context(), admin, client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(T))
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// changing matches values that change with each run.
var changing = regexp.MustCompile(`(resourceVersion: )"[0-9]+"|(uid: )[0-9a-f-]{36}`)

// lasting removes the changing values from the output.
func lasting(out string) []byte { return changing.ReplaceAll([]byte(out), []byte("$1$2…")) }

// TestVerbs checks that each verb writes to the hub, and prints the request.
func TestVerbs(t *testing.T) {
	space(t, "verbs")
	var out strings.Builder
	one := app(t, fixture.Application("one").Namespace("verbs"))
	for _, args := range [][]string{
		{"sync", "one", "--prune"}, {"sync", "one"}, {"stop", "one"}, {"stop", "one"}, {"refresh", "one", "--hard"}, {"pause", "one"},
		{"pause", "one"}, {"resume", "one"}, {"adopt", "one"}, {"move", "one", "--to", "nowhere"}, {"release", "one"}, {"release", "one", "--undo"},
		{"delete", "one"}, {"delete", "one", "--yes", "--cascade", "--dry-run=server"}, {"delete", "one", "--yes", "--cascade"}, {"delete", "one"},
		{"sync", "one"}, {"sync", "none"},
	} {
		s := as(t, "", "", append(args, "-n", "verbs")...)
		out.WriteString("$ kubectl towline " + strings.Join(args, " ") + "\n" + s.out + s.errOut + "exit code " + string(rune('0'+s.code)) + "\n")
		switch args[0] {
		case "sync", "refresh", "pause", "adopt":
			if got := now(t, one); got.Operation == nil && got.Refresh() == "" && len(got.Annotations) < 3 {
				t.Errorf("%v wrote nothing", args)
			}
		}
	}
	if got := now(t, one); got.DeletionTimestamp == nil || got.Finalizers[0] != apis.FinalizerResources || got.ToBeReleased() ||
		got.Annotations[apis.AnnotationAdopt] != apis.AdoptAlways {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	golden.Equal(t, "verbs.golden", lasting(out.String()))
}

// TestVerbsOfASet checks that a change is refused if the ApplicationSet would undo the change. The refusal has the
// lines for the template.
func TestVerbsOfASet(t *testing.T) {
	accepted(t, "sets")
	s := newApplicationSet()
	s.SetNamespace("sets")
	s.SetName("guestbook")
	s.Object["spec"] = map[string]any{"preservedFields": map[string]any{"annotations": []any{apis.AnnotationAdopt}}}
	create(t, s)
	child := app(t, fixture.Application("child").Namespace("sets").ApplicationSet("guestbook").Owner(s.GetUID()))
	var out strings.Builder
	for _, args := range [][]string{
		{"pause", "child"}, {"release", "child"}, {"move", "child", "--to", "c2"}, {"delete", "child", "--yes"},
		{"adopt", "child"}, {"sync", "child"}, {"refresh", "-l", apis.LabelPull}, {"sync", "-l", "no=such"},
		{"pause", "--applicationset", "guestbook"}, {"pause", "--applicationset", "guestbook"}, {"pause", "--cluster", "sets"},
		{"resume", "--cluster", "sets", "-o", "yaml", "--dry-run=client"}, {"pause", "--cluster", "none"}, {"pause"}, {"pause", "child", "-l", "a=b"},
	} {
		s := as(t, "", "", append(args, "-n", "sets")...)
		out.WriteString("$ kubectl towline " + strings.Join(args, " ") + "\n" + s.out + s.errOut + "exit code " + string(rune('0'+s.code)) + "\n")
	}
	if got := now(t, child); got.DeletionTimestamp != nil || got.Annotations[apis.AnnotationPaused] != "" || got.Operation == nil ||
		got.Refresh() == "" {
		t.Errorf("got %+v", got)
	}
	if got := now(t, &s.Unstructured); got.GetAnnotations()[apis.AnnotationPaused] != "true" {
		t.Errorf("got %v", got.GetAnnotations())
	}
	golden.Equal(t, "verbs-of-a-set.golden", lasting(out.String()))
}

// TestVerbWithoutRights checks that the error names the missing right.
func TestVerbWithoutRights(t *testing.T) {
	space(t, "rights")
	app(t, fixture.Application("one").Namespace("rights"))
	may(t, "reads-only", "rights", rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"get"}})
	s := as(t, "reads-only", "", "pause", "one", "-n", "rights")
	if s.code != exitUnread || !strings.Contains(s.out, `cannot patch resource "applications"`) {
		t.Errorf("got %+v", s)
	}
	if s = as(t, "stranger", "", "pause", "one", "-n", "rights"); s.code != exitUnread || !strings.Contains(s.out,
		`cannot get resource "applications"`) {
		t.Errorf("got %+v", s)
	}
}

// TestWait checks that --wait ends with the effect on the hub, or with the timeout.
func TestWait(t *testing.T) {
	space(t, "waits")
	one := app(t, fixture.Application("one").Namespace("waits").Cluster("waits").Finalizers(apis.FinalizerResources))
	if s := as(t, "", "", "pause", "one", "-n", "waits", "--wait", "--timeout", "300ms"); s.code != exitWaiting || !strings.Contains(s.out,
		"is over: Towline has not confirmed the pause yet") {
		t.Errorf("got %+v", s)
	}
	// later does Towline's work after the write of the Application.
	later := func(what string, when func(*argocd.Application) bool) {
		go func() {
			for range 1000 {
				a := &argocd.Application{}
				if err := admin.Get(t.Context(), client.ObjectKeyFromObject(one), a); err != nil {
					return
				}
				if when(a) {
					_ = admin.Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(what)))
					return
				}
				select {
				case <-t.Context().Done():
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
	}
	later(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":null}},"status":{"reconciledAt":"2026-01-02T03:04:05Z"}}`,
		func(a *argocd.Application) bool { return a.Refresh() != "" })
	if s := as(t, "", "", "refresh", "one", "-n", "waits", "--wait"); s.code != exitGood || !strings.Contains(s.out,
		"compared at 2026-01-02T03:04:05Z") {
		t.Errorf("got %+v", s)
	}
	later(`{"operation":null,"status":{"operationState":{"phase":"Failed","message":"no such\u001b[31m path",`+
		`"startedAt":"2026-01-02T03:04:05Z","operation":{}}}}`,
		func(a *argocd.Application) bool { return a.Operation != nil })
	if s := as(t, "", "", "sync", "one", "-n", "waits", "--wait"); s.code != exitBlocked || !strings.Contains(s.out,
		"ended with Failed: no such [31m path") {
		t.Errorf("got %+v", s)
	}
	later(`{"metadata":{"finalizers":null}}`, func(a *argocd.Application) bool { return a.DeletionTimestamp != nil })
	if s := as(t, "", "y\n", "delete", "one", "-n", "waits", "--wait"); s.code != exitGood || !strings.Contains(s.out, "gone from the hub") ||
		!strings.Contains(s.errOut, "the whole workload on waits is deleted. Go on? [y/N]") {
		t.Errorf("got %+v", s)
	}
}

// TestWaitForWorks checks that a release ends with the ManifestWork. A user without the right to read works gets an
// error.
func TestWaitForWorks(t *testing.T) {
	space(t, "works")
	one := app(t, fixture.Application("one").Namespace("works").Cluster("works"))
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "works", Name: "one-" + string(one.UID)[:5]}}
	create(t, w)
	if s := as(t, "", "", "release", "one", "-n", "works", "--wait", "--timeout", "300ms"); s.code != exitWaiting {
		t.Errorf("got %+v", s)
	}
	may(t, "releases", "works", rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"get",
		"patch"}})
	if s := as(t, "", "", "release", "one", "-n", "works", "--undo"); s.code != exitGood {
		t.Errorf("got %+v", s)
	}
	if s := as(t, "releases", "", "release", "one", "-n", "works", "--wait"); s.code != exitUnread || !strings.Contains(s.out,
		`cannot get resource "manifestworks"`) {
		t.Errorf("got %+v", s)
	}
	if err := admin.Delete(t.Context(), w, client.Preconditions{UID: ptr.To(w.UID)}); err != nil {
		t.Fatal(err)
	}
	if s := as(t, "", "", "release", "one", "-n", "works", "--undo"); s.code != exitGood {
		t.Errorf("got %+v", s)
	}
	if s := as(t, "", "", "release", "one", "-n", "works", "--wait"); s.code != exitGood || !strings.Contains(s.out, "released: everything stays") {
		t.Errorf("got %+v", s)
	}
}
