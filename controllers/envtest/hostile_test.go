package envtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// filled returns a work's status with about 1.4 MB from a hostile agent, in addition to the fields of an honest agent.
func filled(app *argocd.Application) workv1.ManifestWorkStatus {
	long := strings.Repeat("x", 20<<10)
	status := feedbackOf(app).Healthy("a").String("healthMessage", long).Obj()
	m := &status.ResourceStatus.Manifests[0]
	for i := range 20 {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{
			Name: fmt.Sprint("invented", i), Value: workv1.FieldValue{Type: workv1.String, String: ptr.To(long)},
		})
	}
	for i := range 20 {
		c := metav1.Condition{Type: fmt.Sprint("Invented", i), Status: metav1.ConditionTrue, Reason: "Test", Message: long,
			LastTransitionTime: metav1.Now()}
		status.Conditions = append(status.Conditions, c)
		m.Conditions = append(m.Conditions, c)
	}
	for i := range 40 {
		other := *m.DeepCopy()
		other.ResourceMeta.Name, other.Conditions = fmt.Sprint("other", i), other.Conditions[:1]
		other.StatusFeedbacks.Values = other.StatusFeedbacks.Values[:1]
		other.StatusFeedbacks.Values[0].Value.String = ptr.To(long[:4<<10])
		status.ResourceStatus.Manifests = append(status.ResourceStatus.Manifests, other)
	}
	return status
}

// TestClustersThatFillTheirWorks: the hub shows the health with a shortened message, and each replica caches only a
// small part of the status.
func TestClustersThatFillTheirWorks(t *testing.T) {
	start(t)
	c := cluster(t)
	const n = 4
	for range n {
		app := application(t, c).Obj()
		create(t, app)
		editStatus(t, expectWork(t, app), func(w *workv1.ManifestWork) { w.Status = filled(app) })
		expectHealth(t, app, "Healthy")
		if m := get(t, app).Status.Health.Message; len(m) > 2048 || !strings.HasSuffix(m, "…") {
			t.Errorf("%d bytes of a message are shown, and nothing says that it was cut", len(m))
		}
	}

	// The cache of a new standby replica.
	replica, err := cache.New(controllers.Config(hub), withScheme(controllers.Cache(controllers.DefaultArgoCDNamespace, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = replica.Start(ctx) }()
	if _, err := replica.GetInformer(ctx, &workv1.ManifestWork{}); err != nil {
		t.Fatal(err)
	}
	if !replica.WaitForCacheSync(ctx) { // also waits for the start of the cache
		t.Fatal("the cache of the replica was not filled")
	}
	works := &workv1.ManifestWorkList{}
	if err := replica.List(ctx, works, client.InNamespace(c.Name)); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Expect(works.Items).To(HaveLen(n))
	live := &workv1.ManifestWorkList{}
	if err := k8s.List(ctx, live, client.InNamespace(c.Name)); err != nil {
		t.Fatal(err)
	}
	held, whole := trim.Size(works), trim.Size(live)
	t.Logf("%d bytes of %d are held of each", held/n, whole/n)
	if held/n > 64<<10 || whole/n < 1<<20 {
		t.Errorf("%d bytes of %d are held of each", held/n, whole/n)
	}
}

func withScheme(o cache.Options) cache.Options {
	o.Scheme = scheme
	return o
}
