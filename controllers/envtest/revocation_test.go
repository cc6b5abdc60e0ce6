package envtest_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// deleting configures the hub to remove refused Applications from their clusters.
func deleting(o *controllers.Options) {
	o.Authorization = controllers.Authorization{Revocation: delivery.RevocationOptions{
		Delete: true, Grace: 300 * time.Millisecond, Limit: 1000,
	}}
}

// expectDeleting waits until a work is being deleted, and returns its last manifest.
func expectDeleting(t *testing.T, w *workv1.ManifestWork) string {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		now := get(t, w)
		return now == nil || !now.DeletionTimestamp.IsZero()
	}, soon, tick).Should(BeTrue())
	return string(w.Spec.Workload.Manifests[0].Raw)
}

// expectKept fails if a work was deleted or is being deleted.
func expectKept(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	settled(t)
	if now := get(t, w.DeepCopy()); now == nil || !now.DeletionTimestamp.IsZero() {
		t.Fatal("it was taken off its cluster")
	}
}

// TestRevocationGoesByTheDeliveredSpec: a mistake in the hub's spec removes nothing from a cluster. The lost permission
// for the delivered spec removes the Application.
func TestRevocationGoesByTheDeliveredSpec(t *testing.T) {
	start(t, deleting)
	s := &scene{namespace: tenant(t), cluster: cluster(t)}
	create(t, binding(s.namespace, globalSet))
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).Obj()
	const repo = "https://git.example.com/apps.git"
	s.app.Spec.Raw = []byte(`{"project":"default","source":{"repoURL":"` + repo + `","path":"a"},"destination":{"namespace":"guestbook"}}`)
	s.own(t, func(p *argocd.AppProjectSpec) {
		p.SourceNamespaces, p.SourceRepos = []string{s.namespace}, []string{repo}
	})
	create(t, s.app)
	w := expectWork(t, s.app)
	edit(t, s.app, func(a *argocd.Application) {
		a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), "example.com", "exmaple.com", 1))
	})
	expectForbidden(t, s.app, apis.ReasonSourceForbidden, "exmaple.com")
	expectKept(t, w)
	s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{"https://git.example.com/others.git"} })
	expectDeleting(t, w)
	NewWithT(t).Eventually(func() []string { return eventReasons(t, s.app) }, soon, tick).Should(ContainElement(apis.ReasonRevoked))
	expectForbidden(t, s.app, apis.ReasonSourceForbidden, "exmaple.com")
}

// TestNothingShieldsFromRevocation: no change by the author of an Application prevents a revocation.
func TestNothingShieldsFromRevocation(t *testing.T) {
	start(t, deleting)
	for title, escape := range map[string]func(*testing.T, *argocd.Application){
		"a pause": func(_ *testing.T, a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = "true" },
		"another cluster": func(t *testing.T, a *argocd.Application) {
			a.Annotations[apis.AnnotationCluster] = cluster(t).Name
		},
		"no cluster":       func(_ *testing.T, a *argocd.Application) { delete(a.Annotations, apis.AnnotationCluster) },
		"a release":        func(_ *testing.T, a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" },
		"the label is off": func(_ *testing.T, a *argocd.Application) { delete(a.Labels, apis.LabelPull) },
		"a false label":    func(_ *testing.T, a *argocd.Application) { a.Labels[apis.LabelPull] = "false" },
	} {
		t.Run(title, func(t *testing.T) {
			s, w := ruled(t)
			app := s.app
			edit(t, app, func(a *argocd.Application) { escape(t, a) })
			if strings.HasPrefix(title, "a release") || strings.Contains(title, "label") || title == "no cluster" {
				NewWithT(t).Eventually(func() bool { return work.Released(get(t, w)) }, soon, tick).Should(BeTrue())
			}
			settled(t)
			s.forbid(t)
			if get(t, w); w.Spec.DeleteOption != nil || w.Generation > 1 { // a pending release is first reverted
				NewWithT(t).Eventually(func() bool { return get(t, w).Spec.DeleteOption == nil }, soon, tick).Should(BeTrue())
				applied(t, w)
			}
			if carried := expectDeleting(t, w); !strings.Contains(carried, apis.FinalizerResources) {
				t.Errorf("what it deployed would stay: %s", carried)
			}
		})
	}
}

// TestAPausedClusterHoldsRevocation: a pause of the cluster delays the revocation. No author of an Application can
// pause a cluster.
func TestAPausedClusterHoldsRevocation(t *testing.T) {
	start(t, deleting)
	s, w := ruled(t)
	annotate(t, managedCluster(s.app.Cluster()), "true")
	s.forbid(t)
	outlasted(t)
	expectKept(t, w)
	annotate(t, managedCluster(s.app.Cluster()), "false")
	expectDeleting(t, w)
}

// TestForceDeleteInARevocation: force-delete releases an Application also if its cluster does not answer the
// revocation.
func TestForceDeleteInARevocation(t *testing.T) {
	start(t, deleting)
	s, w := ruled(t)
	app := s.app
	edit(t, app, func(a *argocd.Application) {
		a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), `"path":"a"`, `"path":"b"`, 1))
	})
	NewWithT(t).Eventually(func() int64 { return get(t, w).Generation }, soon, tick).Should(BeNumerically(">", 1))
	s.forbid(t)
	expectForbidden(t, app, apis.ReasonSourceForbidden, "being removed from cluster")
	remove(t, app)
	settled(t)
	if get(t, app.DeepCopy()) == nil || get(t, w) == nil {
		t.Fatal("it went without the cluster's word")
	}
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationForceDelete] = "true" })
	expectGone(t, app)
	expectDeleting(t, w)
}

// TestAForbiddenOperationIsHeldAlone: a forbidden operation is not sent, all other changes are sent, and a user can
// withdraw the operation like any other.
func TestAForbiddenOperationIsHeldAlone(t *testing.T) {
	start(t)
	s := &scene{namespace: namespace(t, unique("apps")), cluster: cluster(t)}
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).Obj()
	s.own(t, func(p *argocd.AppProjectSpec) {
		p.SourceNamespaces, p.SourceRepos = []string{"*"}, []string{"*", "!https://evil.example.com/*"}
	})
	app := s.app
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	request(t, app, `{"sync":{"source":{"repoURL":"https://evil.example.com/x","path":"."}}}`)
	expectForbidden(t, app, apis.ReasonSourceForbidden, "https://evil.example.com/x")
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	g := NewWithT(t)
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).Should(ContainSubstring(`"note":"x"`))

	// A running operation on the cluster is stopped all the same.
	reportHeld(t, app, operationReport(app, "Running", "of-the-cluster").String("resourceVersion", "2"))
	phase := func() string {
		if s := get(t, app).Status.OperationState; s != nil {
			return s.Phase
		}
		return ""
	}
	g.Eventually(phase, soon, tick).Should(Equal("Running"))
	edit(t, app, func(a *argocd.Application) { a.Status.OperationState.Phase = "Terminating" })
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).
		Should(ContainSubstring(`"phase":"Terminating"`))
	reportHeld(t, app, operationReport(app, "Failed", "of-the-cluster").String("resourceVersion", "3"))
	g.Eventually(phase, soon, tick).Should(Equal("Failed"))
	expectWork(t, app) // the work no longer records the request

	edit(t, app, func(a *argocd.Application) { a.Status.OperationState.Phase = "Terminating" })
	g.Eventually(func() bool { return get(t, app).Operation == nil }, soon, tick).Should(BeTrue())
	expectNoNotice(t, app, apis.ConditionPropagationForbiddenError)
	if got := carried(t, app); got != "" {
		t.Errorf("%s went to the cluster", got)
	}
}

// TestAnOperationThatBringsItsOwnManifests: such an operation is never sent, even if the AppProject permits all
// sources. A user can withdraw the operation like any other, and the next operation without manifests is sent.
func TestAnOperationThatBringsItsOwnManifests(t *testing.T) {
	start(t)
	s := &scene{namespace: namespace(t, unique("apps")), cluster: cluster(t)}
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).Obj()
	s.own(t, func(p *argocd.AppProjectSpec) { p.SourceNamespaces, p.SourceRepos = []string{"*"}, []string{"*"} })
	app := s.app
	const manifest = `{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"not-from-git\"}}`
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	request(t, app, `{"sync":{"revision":"HEAD","manifests":["`+manifest+`"]}}`)
	expectForbidden(t, app, apis.ReasonManifestsForbidden, "is not sent")
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" })
	g := NewWithT(t)
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).Should(ContainSubstring(`"note":"x"`))
	settled(t)
	if got := carried(t, app); got != "" {
		t.Errorf("%s went to the cluster", got)
	}
	if op := get(t, app).Operation; op == nil || relay.ID(op.Raw) != "" {
		t.Error("the operation was taken off the hub, or given an identity")
	}
	edit(t, app, func(a *argocd.Application) { a.Operation = nil })
	expectNoNotice(t, app, apis.ConditionPropagationForbiddenError)
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{"revision":"HEAD","manifests":[]}}`)
	sentOperation(t, app, "")
	if got := carried(t, app); strings.Contains(got, "not-from-git") {
		t.Errorf("%s went to the cluster", got)
	}
}

// TestAForbiddenOperationHidesNoMove: the Application shows the reason for the held operation and the reason why the
// move waits.
func TestAForbiddenOperationHidesNoMove(t *testing.T) {
	start(t)
	s := &scene{namespace: namespace(t, unique("apps")), cluster: cluster(t)}
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).Obj()
	s.own(t, func(p *argocd.AppProjectSpec) {
		p.SourceNamespaces, p.SourceRepos = []string{"*"}, []string{"*", "!https://evil.example.com/*"}
	})
	create(t, s.app)
	atWork(t, s.app)
	request(t, s.app, `{"sync":{"source":{"repoURL":"https://evil.example.com/x","path":"."}}}`)
	expectForbidden(t, s.app, apis.ReasonSourceForbidden, "https://evil.example.com/x")
	edit(t, s.app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = cluster(t).Name })
	expectNotice(t, s.app, apis.ConditionMoveWarning, "cluster "+s.cluster.Name+" keeps the Application until the new cluster has applied its copy")
	expectNotice(t, s.app, apis.ConditionPropagationForbiddenError, "is not sent")
	expectNote(t, s.app, "cluster "+s.cluster.Name+" keeps the Application until the new cluster has applied its copy")
}
