package envtest_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/history"
)

// planted is a source that appears in no spec on the hub.
const planted = "https://evil.example.com/x.git"

// helmSpec returns a spec with the path of a repository and the value of a Helm parameter.
func helmSpec(path, tag string) string {
	return `{"project":"default","source":` + helmSource("https://git.example.com/apps.git", path, tag) +
		`,"destination":{"server":"https://kubernetes.default.svc","namespace":"guestbook"}}`
}

func helmSource(repo, path, tag string) string {
	return fmt.Sprintf(`{"repoURL":%q,"path":%q,"targetRevision":"HEAD","helm":{"parameters":[{"name":"tag","value":%q}]}}`, repo, path, tag)
}

// historyOf returns a status with a history of the sources, as an agent reports the status.
func historyOf(t *testing.T, health string, sources ...string) argocd.Status {
	t.Helper()
	var list []string
	for i, s := range sources {
		list = append(list, fmt.Sprintf(`{"id":%d,"revision":"53e28ff","deployedAt":"2026-01-02T03:04:0%dZ","source":%s}`, i, i, s))
	}
	s := statusOf(t, `{"health":{"status":"`+health+`"},"history":[`+strings.Join(list, ",")+`]}`)
	history.Stamp(s.History)
	return s
}

// sourcesShown returns the sources in the Application's history on the hub. A user can roll the Application back to
// these sources.
func sourcesShown(t *testing.T, app *argocd.Application) []string {
	t.Helper()
	var out []string
	for _, d := range get(t, app).Status.History {
		out = append(out, d.Source.RepoURL+" "+d.Source.Path+" "+d.Source.Whole)
	}
	return out
}

// reportedAgain writes a new status into the cluster's report, and waits until the hub shows the health.
func reportedAgain(t *testing.T, app *argocd.Application, s argocd.Status) {
	t.Helper()
	edit(t, reportOn(t, app), func(r *v1alpha1.ApplicationReport) { r.Status = s })
	expectHealth(t, app, s.Health.Status)
}

// TestAClusterCannotPlantItsHistory: a rollback deploys the source of a history entry. Therefore the hub shows only the
// sources of its own specs, with their parameters, also after a restart.
func TestAClusterCannotPlantItsHistory(t *testing.T) {
	towline := start(t)
	app := application(t, cluster(t)).Spec(helmSpec("web", "v1")).Obj()
	create(t, app)
	reported(t, app, `{"health":{"status":"Progressing"}}`)
	evil, v1, v2 := helmSource(planted, "web", "v1"), helmSource("https://git.example.com/apps.git", "web", "v1"),
		helmSource("https://git.example.com/apps.git", "web", "v2")
	evilTag := helmSource("https://git.example.com/apps.git", "web", "planted")
	first, second := And(HavePrefix("https://git.example.com/apps.git web"), ContainSubstring(`"v1"`)), ContainSubstring(`"v2"`)

	reportedAgain(t, app, historyOf(t, "Healthy", evil, v1, evilTag))
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(ConsistOf(first))
	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(helmSpec("web", "v2")) })
	reportedAgain(t, app, historyOf(t, "Degraded", evil, v1, evilTag, v2))
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(HaveExactElements(first, second))

	towline.stop()
	start(t)
	reportedAgain(t, app, historyOf(t, "Progressing", v1, evil, v2, evilTag))
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(HaveExactElements(first, second))
}

// TestTheHistoryHasASourceOfBefore: the source changes while the cluster still deploys the former source.
func TestTheHistoryHasASourceOfBefore(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Spec(helmSpec("web", "v1")).Obj()
	create(t, app)
	expectWork(t, app)
	reported(t, app, `{"health":{"status":"Progressing"}}`)
	expectHealth(t, app, "Progressing")
	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(helmSpec("web", "v2")) })
	NewWithT(t).Eventually(func() string { return carriedBy(workOf(t, app)) }, soon, tick).Should(ContainSubstring(`"v2"`))
	former, evil := helmSource("https://git.example.com/apps.git", "web", "v1"), helmSource(planted, "web", "v1")
	reportedAgain(t, app, historyOf(t, "Healthy", evil, former))
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(ConsistOf(ContainSubstring(`"v1"`)))
}

// TestAMovedApplicationLosesItsHistory: the former cluster chose the revisions of the history.
func TestAMovedApplicationLosesItsHistory(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).Spec(helmSpec("web", "v1")).Obj()
	create(t, app)
	w := expectWork(t, app) // a work after the report would count as made anew, and the move would wait for its agent
	reported(t, app, `{"health":{"status":"Progressing"}}`)
	reportedAgain(t, app, historyOf(t, "Healthy", helmSource("https://git.example.com/apps.git", "web", "v1")))
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(HaveLen(1))
	to := cluster(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(BeEmpty())
	report(t, app, feedbackOf(app).Healthy("a"))
	expectDeleting(t, w)
	expectHealth(t, app, "Healthy")
	if shown := sourcesShown(t, app); len(shown) > 0 {
		t.Errorf("it shows %q", shown)
	}
}
