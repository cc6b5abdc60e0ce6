package main

import (
	"io"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/why"
)

// TestOrphans checks the list of orphans, and decisions about single orphans or many.
func TestOrphans(t *testing.T) {
	space(t, "lost1")
	space(t, "lost2")
	work := func(cluster, name string, annotations map[string]string) *workv1.ManifestWork {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, Name: name, Annotations: annotations, Labels: map[string]string{apis.LabelPull: "true", "team": name},
		}}
		create(t, w)
		return w
	}
	lost := func(name string) map[string]string {
		return map[string]string{
			apis.AnnotationOrphanedAt:     time.Now().Add(-5 * time.Hour).UTC().Format(time.RFC3339),
			apis.AnnotationHubNamespace:   "argocd",
			apis.AnnotationHubName:        name,
			apis.AnnotationApplicationSet: "argocd/s\x1b[31m",
		}
	}
	a, b, c := work("lost1", "a-1", lost("a")), work("lost1", "b-1", lost("b")), work("lost2", "c-1", lost("c"))
	kept := work("lost2", "kept-1", nil)
	var out strings.Builder
	for _, args := range [][]string{
		{"orphans"}, {"orphans", "-o", "name", "-l", "team=a-1"}, {"orphans", "adopt"}, {"orphans", "adopt", "lost1/a-1"},
		{"orphans", "adopt", "lost2/kept-1", "--yes"}, {"orphans", "adopt", "kept-1"}, {"orphans", "delete", "--cluster", "lost2", "--dry-run=client"},
		{"orphans", "delete", "--yes"}, {"orphans", "delete", "lost1/none", "--yes"}, {"orphans", "--cluster", "lost2"}, {"orphans", "--cluster",
			"default"},
		{"orphans", "adopt", "lost1/b-1", "--wait", "--timeout", "200ms", "--yes"},
	} {
		s := as(t, "", "", args...)
		out.WriteString("$ kubectl towline " + strings.Join(args, " ") + "\n" + s.out + s.errOut + "exit code " + string(rune('0'+s.code)) + "\n")
		if strings.HasSuffix(strings.Join(args, " "), "orphans adopt lost1/a-1") {
			if now(t, a).Annotations[apis.AnnotationOrphaned] != "" {
				t.Error("decided without a word")
			}
			if s := as(t, "", "yes\n", args...); s.code != 0 || now(t, a).Annotations[apis.AnnotationOrphaned] != "adopt" {
				t.Errorf("got %+v", s)
			}
		}
	}
	for w, want := range map[*workv1.ManifestWork]string{a: "adopt", b: "adopt", c: "delete", kept: ""} {
		if got := now(t, w).Annotations[apis.AnnotationOrphaned]; got != want {
			t.Errorf("%s: %q", w.Name, got)
		}
	}
	golden.Equal(t, "orphans.golden", lasting(out.String()))
	for _, format := range formats {
		if s := as(t, "", "", "orphans", "-o", format); s.code != exitBlocked {
			t.Errorf("%s: %+v", format, s)
		}
		if s := as(t, "", "", "orphans", "-o", format, "--cluster", "default"); s.code != exitGood {
			t.Errorf("%s: %+v", format, s)
		}
	}
	if s := as(t, "stranger", "", "orphans"); s.code != exitUnread || !strings.Contains(s.errOut, `cannot list resource "manifestworks"`) {
		t.Errorf("got %+v", s)
	}
	may(t, "lists", "lost1", rbacv1.PolicyRule{APIGroups: []string{"work.open-cluster-management.io"}, Resources: []string{"manifestworks"},
		Verbs: []string{"get", "list"}})
	if s := as(t, "lists", "", "orphans", "delete", "lost1/a-1", "--yes"); s.code != exitUnread || !strings.Contains(s.out, "cannot patch") {
		t.Errorf("got %+v", s)
	}
}

// TestLongQueueOfTheRateLimiter checks that a long queue in the client's rate limiter is no failure.
func TestLongQueueOfTheRateLimiter(t *testing.T) {
	space(t, "turns")
	config := rest.CopyConfig(env.Config)
	config.QPS, config.Burst = 2, 1
	c, err := client.New(config, client.Options{Scheme: admin.Scheme(), Mapper: reading.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "turns", Name: "one"}}
	create(t, w)
	o := &orphansOptions{verbOptions: verbOptions{options: newOptions(genericiooptions.IOStreams{ErrOut: io.Discard})}}
	for range 2 { // the first request uses up the burst
		r := o.awaitEnd(t.Context(), &hub{Client: c}, client.ObjectKeyFromObject(w), outcome{}, time.Now())
		if r.State != why.Waiting {
			t.Errorf("got %+v", r)
		}
	}
}
