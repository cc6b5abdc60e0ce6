package envtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// readsOf returns the number of reads of Applications in the namespace since the last call of takeReads.
func (r *running) readsOf(namespace string) (n int) {
	for _, path := range r.writes.takeReads() {
		if strings.Contains(path, "/namespaces/"+namespace+"/applications/") {
			n++
		}
	}
	return n
}

// quiet is longer than Towline's wait before the next check of a disagreement between the cache and the API server.
// Package delivery decides that no later check follows: see its TestOrphan and TestRelease, where each wait has a
// duration.
const quiet = 1500 * time.Millisecond

// expectUnread waits until Towline has read no Application of the namespace for the time quiet.
func expectUnread(t *testing.T, towline *running, namespace string) {
	t.Helper()
	last, reads := time.Now(), 0
	NewWithT(t).Eventually(func() time.Duration {
		if n := towline.readsOf(namespace); n > 0 {
			last, reads = time.Now(), reads+n
		}
		return time.Since(last)
	}, 20*quiet, tick).Should(BeNumerically(">", quiet), func() string { return fmt.Sprintf("%d reads of its Applications", reads) })
}

// few enables only the controllers that take part in the deletion of an Application.
func few(o *controllers.Options) { o.Enabled = []string{controllers.Propagation, controllers.Status} }

// TestOrphansOnAPausedClusterCostNothing: orphans on a paused cluster cause no reads while nothing changes, and
// continue after the pause.
func TestOrphansOnAPausedClusterCostNothing(t *testing.T) {
	for title, tc := range map[string]struct {
		count int
		looks func(*controllers.Options)
	}{"lost": {12, patient}, "some few": {3, hasty}} {
		t.Run(title, func(t *testing.T) {
			count := tc.count
			towline := start(t, few)
			apps, works := many(t)
			towline.stop()
			for _, w := range works[count:] {
				end(t, w)
			}
			annotate(t, managedCluster(apps[0].Cluster()), "true")
			for _, app := range apps {
				dropped(t, app)
			}
			towline = start(t, few, tc.looks)
			defer towline.stop()
			expectUnread(t, towline, apps[0].Namespace)
			annotate(t, managedCluster(apps[0].Cluster()), "false")
			for _, w := range works[:count] {
				NewWithT(t).Eventually(func() int { return len(get(t, w).Annotations) }, soon, tick).Should(BeNumerically(">", 2),
					"neither held nor asked to go")
			}
		})
	}
}

// TestReleasesOnAPausedClusterCostNothing: a release on a paused cluster causes no reads either.
func TestReleasesOnAPausedClusterCostNothing(t *testing.T) {
	towline := start(t, few)
	app := application(t, cluster(t)).Finalizers(apis.FinalizerResources).Obj()
	create(t, app)
	w := atWork(t, app)
	annotate(t, managedCluster(app.Cluster()), "true")
	expectNotice(t, app, apis.ConditionPausedWarning, "on Namespace")
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
	expectNotice(t, app, apis.ConditionPausedWarning, "the release waits")
	expectUnread(t, towline, app.Namespace)
	annotate(t, managedCluster(app.Cluster()), "false")
	applied(t, expectReleasing(t, app))
	expectDeleting(t, w)
}
