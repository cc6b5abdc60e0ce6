package suite

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/matrix"
	"github.com/towline-io/towline/pkg/work"
)

// watching returns a reader of the names of the works that let the agent of a cluster watch Argo CD's namespace.
func watching(on string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		list := &workv1.ManifestWorkList{}
		err := hub.List(ctx, list, client.InNamespace(on))
		var out []string
		for i := range list.Items {
			if work.Watches(&list.Items[i]) == on+"/"+fleet.ArgoCDNamespace {
				out = append(out, list.Items[i].Name)
			}
		}
		return out, err
	}
}

// The rule of the work agent (v1.2.0, pkg/work/spoke/objectreader): a work with feedbackScrapeType Watch makes the agent
// report each Application of the namespace at once. An agent with another rule would report the second Application up to
// 19 s later.
var _ = Describe("The watch of the work agent", func() {
	const on = "cluster2"

	BeforeEach(func() {
		if oldest() {
			Skip(matrix.Lacks("Open Cluster Management 1.0", "the watch of the work agent")) // the works have no feedbackScrapeType
		}
	})

	It("is asked for by a single work, and serves all Applications of the namespace", func(ctx SpecContext) {
		names := []string{"watched-a", "watched-b", "watched-c"}
		for _, name := range names {
			standalone(ctx, name, on)
		}
		for _, name := range names {
			expectHealthy(ctx, name)
		}
		Eventually(ctx, watching(on)).Should(HaveLen(1))
		one, err := watching(on)(ctx)
		Expect(err).NotTo(HaveOccurred())

		polled := slices.IndexFunc(names, func(name string) bool {
			app, err := read(hub, named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			return work.Key(app).Name != one[0]
		})
		name := names[polled]
		for range 3 { // a poll could come soon by chance once
			message := fmt.Sprint("seen ", time.Now().UnixNano())
			editThere(ctx, on, name, fmt.Sprintf(`{"status":{"health":{"message":%q}}}`, message))
			Eventually(ctx, func(ctx context.Context) (string, error) {
				app, err := read(hub, named(name))(ctx)
				if err != nil || app == nil {
					return "", err
				}
				return app.Status.Health.Message, nil
			}).WithTimeout(4 * time.Second).Should(Equal(message))
		}
	})

	It("passes to another work at the end of the work that asked for it", func(ctx SpecContext) {
		app := standalone(ctx, "zzz-watched", on)
		standalone(ctx, "watched-d", on)
		expectHealthy(ctx, "zzz-watched")
		expectHealthy(ctx, "watched-d")
		own := work.Key(app).Name
		askFor(ctx, on, own, workv1.FeedbackWatchType) // of several works, the work with the last name remains
		before, err := watching(on)(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, name := range before {
			if name != own {
				askFor(ctx, on, name, workv1.FeedbackPollType)
			}
		}
		Eventually(ctx, watching(on)).Should(Equal([]string{own}))
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, watching(on)).Should(And(HaveLen(1), Not(ContainElement(own))))
	})
})

// askFor changes how the agent of a cluster gets the status of a work's Application.
func askFor(ctx context.Context, on, name string, scrape workv1.FeedbackScrapeType) {
	GinkgoHelper()
	w := &workv1.ManifestWork{}
	w.Namespace, w.Name = on, name
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/manifestConfigs/0/feedbackScrapeType","value":%q}]`, scrape)
	Expect(hub.Patch(ctx, w, client.RawPatch(types.JSONPatchType, []byte(patch)))).To(Succeed())
}
