package envtest_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
)

// grace configures the time for which a rule must refuse an Application before its removal, and the number of works
// above which Towline holds the removal.
func grace(d time.Duration, limit int) func(*controllers.Options) {
	return func(o *controllers.Options) {
		o.Authorization.Revocation = delivery.RevocationOptions{Delete: true, Grace: d, Limit: limit}
	}
}

// permit reverts forbid.
func (s *scene) permit(t *testing.T) {
	t.Helper()
	s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{repo} })
}

// announcedFor is part of the message about an Application that leaves a cluster at the end of the grace period.
const announcedFor = "is asked to remove the Application at "

// TestARefusalIsAnnounced: by default, the removal is announced a minute in advance. A pause does not hide the
// announcement.
func TestARefusalIsAnnounced(t *testing.T) {
	start(t, grace(0, 0))
	s, w := ruled(t)
	edit(t, s.app, func(a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = "true" })
	expectNotice(t, s.app, apis.ConditionPausedWarning, "paused")
	begin := time.Now()
	s.forbid(t)
	expectForbidden(t, s.app, apis.ReasonSourceForbidden, announcedFor)
	message, _ := condition(t, s.app, apis.ConditionPropagationForbiddenError)
	_, rest, _ := strings.Cut(message, announcedFor)
	when, err := time.Parse(time.RFC3339, strings.SplitN(rest, ",", 2)[0])
	if err != nil || when.Before(begin.Add(time.Minute-time.Second)) {
		t.Errorf("it goes at %s (%v): %s", when, err, message)
	}
	expectNotice(t, s.app, apis.ConditionPausedWarning, "paused")
	expectKept(t, w)
}

// TestARefusalThatIsWithdrawn: a refusal that is withdrawn within the grace period removes nothing. The next refusal
// gets a full grace period again.
func TestARefusalThatIsWithdrawn(t *testing.T) {
	const long = 8 * time.Second // longer than a busy machine needs to forbid and permit
	start(t, grace(long, 1000))
	s, w := ruled(t)
	flap := func() {
		t.Helper()
		begin := time.Now()
		s.forbid(t)
		expectForbidden(t, s.app, apis.ReasonSourceForbidden, announcedFor)
		s.permit(t)
		expectNoNotice(t, s.app, apis.ConditionPropagationForbiddenError)
		if took := time.Since(begin); took >= long {
			t.Fatalf("forbidding and permitting took %s, which is more than the grace", took)
		}
	}
	flap()
	outlasted(t)
	if now := get(t, w.DeepCopy()); now == nil || !now.DeletionTimestamp.IsZero() {
		t.Fatal("it was taken off its cluster")
	}
	flap()
	begin := time.Now()
	s.forbid(t)
	expectDeleting(t, w)
	if lasted := time.Since(begin); lasted < long {
		t.Errorf("it went after %s", lasted)
	}
}

// TestARestartBeginsTheGraceAnew: the state during the stop is unknown.
func TestARestartBeginsTheGraceAnew(t *testing.T) {
	const long = 2 * time.Second
	towline := start(t, grace(time.Hour, 1000))
	s, w := ruled(t)
	s.forbid(t)
	expectForbidden(t, s.app, apis.ReasonSourceForbidden, announcedFor)
	towline.stop()
	begin := time.Now()
	start(t, grace(long, 1000))
	expectDeleting(t, w)
	if lasted := time.Since(begin); lasted < long {
		t.Errorf("it went after %s", lasted)
	}
}

// TestRightsOfTheAuthorWithinTheGrace: during the grace period, and while too many revocations are held, the author
// may do everything except keep a refused Application.
func TestRightsOfTheAuthorWithinTheGrace(t *testing.T) {
	for title, hub := range map[string]func(*controllers.Options){"grace": grace(time.Hour, 1000), "held": grace(time.Hour, 1)} {
		towline := start(t, hub)
		if title == "held" {
			s, w := severalRuled(t, 2)
			s.forbid(t)
			for _, app := range w.apps {
				expectForbidden(t, app, apis.ReasonRevocationHeld, "To remove an Application nevertheless, delete the Application")
			}
		}
		t.Run(title+": delete it", func(t *testing.T) {
			s, w := ruled(t)
			s.forbid(t)
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "cluster "+w.Namespace)
			remove(t, s.app)
			expectDeleting(t, w)
			release(t, w)
			expectGone(t, s.app)
		})
		t.Run(title+": mend it", func(t *testing.T) {
			s, w := ruled(t)
			s.forbid(t)
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "cluster "+w.Namespace)
			edit(t, s.app, func(a *argocd.Application) {
				a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), repo, "https://git.example.com/others.git", 1))
			})
			expectAllowed(t, s.app)
			if now := workOf(t, s.app); now.UID != w.UID {
				t.Error("it was removed in between")
			}
		})
		t.Run(title+": release it", func(t *testing.T) {
			s, w := ruled(t)
			s.forbid(t)
			expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "cluster "+w.Namespace)
			edit(t, s.app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
			expectKept(t, w)
			if now := get(t, w.DeepCopy()); now.Generation != w.Generation {
				t.Error("the work was changed")
			}
		})
		towline.stop()
	}
}

// works are several Applications and their works.
type works struct {
	apps  []*argocd.Application
	works []*workv1.ManifestWork
}

// severalRuled creates n delivered Applications with the AppProject of the scene.
func severalRuled(t *testing.T, n int) (*scene, works) {
	t.Helper()
	s, first := ruled(t)
	out := works{apps: []*argocd.Application{s.app}, works: []*workv1.ManifestWork{first}}
	for len(out.apps) < n {
		app := s.app.DeepCopy()
		app.Name, app.ResourceVersion, app.Status = unique("app"), "", argocd.Status{}
		create(t, app)
		out.apps, out.works = append(out.apps, app), append(out.works, atWork(t, app))
	}
	return s, out
}

// expectHeld waits until the metric counts n held revocations.
func expectHeld(t *testing.T, n float64) {
	t.Helper()
	NewWithT(t).Eventually(func() float64 {
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "towline_revocations_held" {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}, soon, tick).Should(Equal(n))
}

// TestARevocationInBulkIsHeld: a revocation of many Applications is held as a whole until each Application has its
// permission back, or is deleted.
func TestARevocationInBulkIsHeld(t *testing.T) {
	const short, limit = 3 * time.Second, 3 // enough time for the check of all Applications within the grace period, also on a busy machine
	towline := start(t, grace(short, limit))
	s, all := severalRuled(t, limit+1)
	begin := time.Now()
	s.forbid(t)
	for i, app := range all.apps {
		expectNotice(t, app, apis.ConditionPropagationForbiddenError, "To remove an Application nevertheless, delete the Application")
		NewWithT(t).Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonRevocationHeld))
		expectNotice(t, app, apis.ConditionPropagationForbiddenError, "cluster "+all.works[i].Namespace+" keeps the Application unchanged")
	}
	expectHeld(t, limit+1)
	NewWithT(t).Eventually(func() time.Duration { return time.Since(begin) }, soon, tick).Should(BeNumerically(">", short))
	for _, w := range all.works {
		expectKept(t, w)
	}

	// A deleted Application leaves its cluster. The others stay held, although their number no longer exceeds the
	// limit.
	remove(t, all.apps[0])
	expectDeleting(t, all.works[0])
	release(t, all.works[0])
	expectGone(t, all.apps[0])
	expectHeld(t, limit)
	for _, w := range all.works[1:] {
		expectKept(t, w)
	}

	// With their permission back, the Applications are normal again. If a single Application then loses the
	// permission, the Application leaves its cluster.
	s.permit(t)
	for _, app := range all.apps[1:] {
		expectAllowed(t, app)
	}
	expectHeld(t, 0)
	outlasted(t)

	// A person decides.
	s, all = severalRuled(t, limit+1)
	s.forbid(t)
	for _, app := range all.apps {
		expectNotice(t, app, apis.ConditionPropagationForbiddenError, "To remove an Application nevertheless, delete the Application")
	}
	towline.stop()
	start(t, grace(short, 1000))
	for _, w := range all.works {
		expectDeleting(t, w)
	}
}
