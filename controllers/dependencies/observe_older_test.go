package dependencies

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// paging has works, and lists them by label and page by page. paging remembers the size of each page.
type paging struct {
	client.Reader
	works []workv1.ManifestWork
	pages []int
}

func (p *paging) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	from, _ := strconv.Atoi(o.Continue)
	var found []workv1.ManifestWork
	for _, w := range p.works {
		if w.Namespace == o.Namespace && o.LabelSelector.Matches(labels.Set(w.Labels)) {
			found = append(found, w)
		}
	}
	to := len(found)
	if o.Limit > 0 && from+int(o.Limit) < to {
		to = from + int(o.Limit)
		list.SetContinue(strconv.Itoa(to))
	}
	list.(*workv1.ManifestWorkList).Items = found[from:to]
	p.pages = append(p.pages, to-from)
	return nil
}

// TestWorksOfOlderControllersAreReadOnce: the works of older controllers are read past the cache, page by page. For a
// refused work of an AppProject, this happens once for each version. A work taken over between the read of the cache
// and the live read counts too.
func TestWorksOfOlderControllersAreReadOnce(t *testing.T) {
	const project = `{"project":"web","source":{"repoURL":"https://git.example.com/web.git"},"destination":{"namespace":"web"}}`
	one := fixture.OlderWork(fixture.Application("one").ApplicationSet("web").Obj(), false)
	delete(one.Labels, apis.LabelPull)
	p := &paging{}
	for i := range 2*olderPage + 7 {
		w := one.DeepCopy()
		if i >= 2*olderPage {
			delete(w.Labels, apis.LabelApplicationSet)
		}
		p.works = append(p.works, *w)
	}
	r := &Reconciler{Live: p, Options: dependency.Options{ClusterNamespace: "argocd"}}
	hub := &argocd.AppProject{}
	hub.Name = "web"
	asks := func(w *workv1.ManifestWork, want bool, pages ...int) {
		t.Helper()
		seen := &observation{reader: p}
		seen.Key, seen.Work = dependency.ProjectKey("cluster1", "web"), w
		seen.Project = hub
		if w == nil {
			seen.reader = &paging{}
		}
		p.pages = nil
		if err := r.observeOlder(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
		if seen.SentByOlder != want || !slices.Equal(p.pages, pages) {
			t.Errorf("brought: %t, by the pages %v", seen.SentByOlder, p.pages)
		}
	}
	refused := workWith(dependency.ProjectKey("cluster1", "web"), "uid")
	refused.Generation = 1
	asks(nil, false, olderPage, olderPage)
	asks(refused, false, olderPage, olderPage)
	refused.ResourceVersion = "8" // a new text from the agent about the refusal
	asks(refused, false)
	refused.Generation++
	asks(refused, false, olderPage, olderPage)
	brought := fixture.OlderWork(fixture.Application("brought").ApplicationSet("web").Spec(project).Obj(), false)
	delete(brought.Labels, apis.LabelPull)
	p.works = append([]workv1.ManifestWork{*brought}, p.works...)
	refused.Generation++
	asks(refused, true, olderPage)
	p.works[0].Labels[apis.LabelPull] = "true"
	asks(nil, true, olderPage)
}
