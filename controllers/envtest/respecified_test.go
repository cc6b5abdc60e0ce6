package envtest_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestAChangeThatIsNotCompared: the hub does not show Synced before the cluster has compared the new spec of an
// Application. Until then, the cluster still reports Synced for the old spec.
func TestAChangeThatIsNotCompared(t *testing.T) {
	start(t)
	app := application(t, cluster(t)).ApplicationSet("set").
		Spec(`{"destination":{"namespace":"a"},"project":"default","source":{"path":"one","repoURL":"https://r"}}`).Obj()
	create(t, app)
	says := func(sync, version, at string) *fixture.FeedbackBuilder {
		return feedbackOf(app).String("healthStatus", "Healthy").String("syncStatus", sync).String("syncRevision", "a").
			String("resourceVersion", version).String("reconciledAt", at)
	}
	shown := func(matcher OmegaMatcher) {
		t.Helper()
		NewWithT(t).Eventually(func() *argocd.Sync { return get(t, app).Status.Sync }, soon, tick).Should(matcher)
	}
	report(t, app, says("Synced", "1", "2026-01-02T03:04:08Z"))
	shown(HaveValue(Equal(argocd.Sync{Status: "Synced", Revision: "a"})))
	expectSettled(t, app)

	edit(t, app, func(a *argocd.Application) {
		a.Spec = runtime.RawExtension{Raw: []byte(strings.ReplaceAll(string(a.Spec.Raw), "one", "two"))}
	})
	shown(HaveValue(Equal(argocd.Sync{Status: "OutOfSync"})))
	sent := refresh(t, app, apis.RefreshSpecChanged)
	reportHeld(t, app, says("Synced", "2", "2026-01-02T03:09:08Z")) // of the old spec
	reconciledAt(t, app, "2026-01-02T03:09:08Z")
	shown(HaveValue(Equal(argocd.Sync{Status: "OutOfSync"})))

	reportHeld(t, app, says("OutOfSync", "3", "2026-01-02T03:10:08Z").String("refreshRequest", sent.ID))
	shown(HaveValue(Equal(argocd.Sync{Status: "OutOfSync"}))) // so that a RollingSync notices the change
	NewWithT(t).Eventually(func() map[string]string { return get(t, app).Annotations }, soon, tick).ShouldNot(HaveKey(apis.AnnotationRefresh))
	expectSettled(t, app)
	shown(HaveValue(Equal(argocd.Sync{Status: "OutOfSync"})))

	reportHeld(t, app, says("Synced", "4", "2026-01-02T03:11:08Z"))
	shown(HaveValue(Equal(argocd.Sync{Status: "Synced", Revision: "a"})))
	NewWithT(t).Eventually(func() map[string]string { return workOf(t, app).Annotations }, soon, tick).ShouldNot(HaveKey(apis.AnnotationChangedAt))
	report(t, app, says("OutOfSync", "5", "2026-01-02T03:12:08Z")) // after an edit on the cluster
	shown(HaveValue(Equal(argocd.Sync{Status: "OutOfSync", Revision: "a"})))
}
