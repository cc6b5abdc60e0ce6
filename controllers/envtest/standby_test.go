package envtest_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// heldLease creates the Lease of some replicas. A foreign holder keeps the Lease until its deletion.
func heldLease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: tenant(t), Name: "towline"}}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("somebody"), ptr.To[int32](3600)
	lease.Spec.AcquireTime, lease.Spec.RenewTime = ptr.To(metav1.NowMicro()), ptr.To(metav1.NowMicro())
	create(t, lease)
	return lease
}

// contends makes a replica compete for the Lease, as in production.
func contends(lease *coordinationv1.Lease) func(*ctrl.Options) {
	return func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, lease.Name, lease.Namespace
		o.LeaderElectionReleaseOnCancel = true
		o.RetryPeriod = ptr.To(200 * time.Millisecond)
		o.Controller.EnableWarmup = ptr.To(true)
	}
}

// TestAReplicaThatWaitsForgetsDeletedApplications: a standby replica forgets the Applications that were created and
// deleted while it waited. As the leader, it does not read these Applications.
func TestAReplicaThatWaitsForgetsDeletedApplications(t *testing.T) {
	lease := heldLease(t)
	leader := start(t)
	waits := startReplica(t, contends(lease))
	c, ns := cluster(t), namespace(t, unique("apps"))
	const count = 20
	var sent, all []*argocd.Application
	for range count {
		app := fixture.Application(unique("sent")).Namespace(ns).Cluster(c.Name).Obj()
		nowhere := fixture.Application(unique("nowhere")).Namespace(ns).NoAnnotation(apis.AnnotationCluster).Obj()
		sent, all = append(sent, app), append(all, app, nowhere)
	}
	for _, app := range all {
		create(t, app)
	}
	for _, app := range sent {
		expectWork(t, app)
	}
	for _, app := range all {
		remove(t, app)
	}
	for _, app := range all {
		expectGone(t, app)
	}
	for _, app := range sent {
		expectNoWork(t, app)
	}
	leader.stop()
	waits.readsOf(ns)
	take(t, lease)
	settled(t)
	if n := waits.readsOf(ns); n > 0 {
		t.Errorf("%d Applications that have come and gone while it waited were read %d times", 2*count, n)
	}
}

// TestAReplicaThatWaitsForgetsDeletedApplicationSets: a standby replica keeps no reports of deleted ApplicationSets. As
// the leader, it does not read these reports.
func TestAReplicaThatWaitsForgetsDeletedApplicationSets(t *testing.T) {
	lease := heldLease(t)
	leader := start(t)
	waits := startReplica(t, contends(lease))
	c, first := cluster(t), applicationSet(t)
	const count = 5
	for i := range count {
		set := first
		if i > 0 {
			set = applicationSetNamed(t, first.Namespace, unique("set"))
		}
		app := set.application(c, unique("app")).Obj()
		create(t, app)
		set.expect(t, healths(""))
		remove(t, app)
		set.expectNone(t)
	}
	leader.stop()
	waits.writes.takeReports(http.MethodGet, first.Namespace)
	take(t, lease)
	aggregated(t)
	if got := waits.writes.takeReports(http.MethodGet, first.Namespace); len(got) > 0 {
		t.Errorf("of %d ApplicationSets that are gone it asked for %q", count, got)
	}
}

// TestAReplicaThatWaitsSeesDeletions: a deletion without a leader does not count as a loss.
func TestAReplicaThatWaitsSeesDeletions(t *testing.T) {
	leader := start(t)
	apps, works := many(t)
	lease := heldLease(t)
	startReplica(t, contends(lease))
	leader.stop()
	for _, app := range apps {
		dropped(t, app)
		expectGone(t, app)
	}
	take(t, lease)
	for _, w := range works {
		applied(t, expectAsking(t, w))
		expectDeleting(t, w)
		if at := w.Annotations[apis.AnnotationOrphanedAt]; at != "" {
			t.Error("it was taken for lost")
		}
	}
}

// TestALabelThatIsTakenOffWhileAReplicaWaits: the next leader finds the unlabelled Application, and removes its
// condition.
func TestALabelThatIsTakenOffWhileAReplicaWaits(t *testing.T) {
	leader := start(t)
	app := application(t, cluster(t)).NoAnnotation(apis.AnnotationCluster).Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonClusterAnnotationMissing, "no cluster is named")
	lease := heldLease(t)
	startReplica(t, contends(lease))
	leader.stop()
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	take(t, lease)
	NewWithT(t).Eventually(func() []argocd.Condition { return get(t, app).Status.Conditions }, soon, tick).Should(BeEmpty())
}

// TestALabelThatIsTakenOffAsAReplicaBeginsToLead: the cache of unlabelled Applications may lag behind the cache of
// labelled Applications.
func TestALabelThatIsTakenOffAsAReplicaBeginsToLead(t *testing.T) {
	leader := start(t)
	app, other := application(t, cluster(t)).NoAnnotation(apis.AnnotationCluster).Obj(), application(t, cluster(t)).Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonClusterAnnotationMissing, "no cluster is named")
	lease := heldLease(t)
	waits := startReplica(t, contends(lease))
	leader.stop()
	NewWithT(t).Eventually(waits.writes.unlabelled.begun.Load, soon, tick).Should(BeTrue())
	waits.writes.unlabelled.Lock()
	arrives := sync.OnceFunc(waits.writes.unlabelled.Unlock)
	t.Cleanup(arrives)
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	create(t, other)
	take(t, lease)
	expectWork(t, other)
	arrives()
	NewWithT(t).Eventually(func() []argocd.Condition { return get(t, app).Status.Conditions }, soon, tick).Should(BeEmpty())
}
