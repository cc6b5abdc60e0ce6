package grants

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

const (
	cluster = "cluster1"
	repo    = "https://git.example.com/apps.git"
)

// hub is a cache of Applications, and of the metadata of works.
type hub struct {
	client.Reader

	apps  map[client.ObjectKey]*argocd.Application
	works []metav1.PartialObjectMetadata
}

// Get implements client.Reader for Applications.
func (h *hub) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	app, ok := h.apps[key]
	if !ok {
		return apierrors.NewNotFound(argocd.GroupVersion.WithResource("applications").GroupResource(), key.Name)
	}
	*out.(*argocd.Application) = *app
	return nil
}

// List implements client.Reader for the works of a namespace, without the index.
func (h *hub) List(_ context.Context, out client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	for _, w := range h.works {
		if w.Namespace == o.Namespace {
			list := out.(*metav1.PartialObjectMetadataList)
			list.Items = append(list.Items, w)
		}
	}
	return nil
}

// deliver adds an Application of a project, and the Application's work from the time of another project.
func (h *hub) deliver(name, project, delivered string) *metav1.PartialObjectMetadata {
	app := &argocd.Application{}
	app.Namespace, app.Name = "argocd", name
	app.Labels = map[string]string{apis.LabelPull: "true"}
	app.Annotations = map[string]string{apis.AnnotationCluster: cluster}
	app.Spec.Raw = []byte(`{"project":"` + project + `","source":{"repoURL":"` + repo + `","targetRevision":"refs/pull/7/head"}}`)
	h.apps[client.ObjectKeyFromObject(app)] = app
	key := work.Key(app)
	h.works = append(h.works, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{
			apis.AnnotationHubNamespace: app.Namespace, apis.AnnotationHubName: app.Name,
			apis.AnnotationSources: source.WriteNames(delivered, []string{repo}),
		},
	}})
	return &h.works[len(h.works)-1]
}

// TestGrants: a cluster may read a repository only for the AppProjects of the delivered Applications. Each AppProject has a
// grant of its own, and the former name is for all AppProjects.
func TestGrants(t *testing.T) {
	for name, tc := range map[string]struct {
		hub  func(*hub)
		want []string
	}{
		"nothing":        {func(*hub) {}, nil},
		"a delivery":     {func(h *hub) { h.deliver("a", "one", "one") }, []string{"one"}},
		"other project":  {func(h *hub) { h.deliver("a", "two", "one") }, nil},
		"two projects":   {func(h *hub) { h.deliver("a", "two", "two"); h.deliver("b", "one", "one") }, []string{"one", "two"}},
		"the same twice": {func(h *hub) { h.deliver("a", "one", "one"); h.deliver("b", "one", "one") }, []string{"one"}},
		"a work in deletion": {func(h *hub) {
			now := metav1.Now()
			h.deliver("a", "one", "one").DeletionTimestamp = &now
		}, nil},
		"a rollback": {func(h *hub) {
			h.deliver("a", "one", "one")
			for _, app := range h.apps {
				app.Spec.Raw = []byte(strings.ReplaceAll(string(app.Spec.Raw), repo, repo+".new"))
				app.Status.History = []argocd.Deployment{{Source: &argocd.Source{RepoURL: repo}}}
			}
		}, []string{"one"}},
		"a history, and no rollback": {func(h *hub) {
			w := h.deliver("a", "one", "one")
			w.Annotations[apis.AnnotationSources] = source.WriteNames("one", []string{repo + ".other"})
			for _, app := range h.apps {
				app.Spec.Raw = []byte(strings.ReplaceAll(string(app.Spec.Raw), repo, repo+".new"))
				app.Status.History = []argocd.Deployment{{Source: &argocd.Source{RepoURL: repo}}}
			}
		}, nil},
		"a work of another name": {func(h *hub) { h.deliver("a", "one", "one").Name = "planted" }, nil},
		"without the Application": {func(h *hub) {
			h.deliver("a", "one", "one")
			clear(h.apps)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hub{apps: map[client.ObjectKey]*argocd.Application{}}
			tc.hub(h)
			var own []Grant
			for _, project := range []string{"one", "two"} {
				got, found, err := Grants{h}.Of(t.Context(), cluster, source.Name(project, repo))
				if err != nil || found != slices.Contains(tc.want, project) || found && !slices.Equal(got.Projects, []string{project}) {
					t.Errorf("the AppProject %s has the grant %v (%v, %v)", project, got, found, err)
				}
				if found {
					own = append(own, got)
				}
			}
			former, found, err := Grants{h}.Of(t.Context(), cluster, source.Former(source.Name("one", repo)))
			if err != nil || found != (tc.want != nil) || !slices.Equal(former.Projects, tc.want) {
				t.Errorf("the former name is for %v (%v, %v), not %v", former.Projects, found, err, tc.want)
			}
			all, err := Grants{h}.All(t.Context(), cluster)
			byName := func(a, b Grant) int { return strings.Compare(a.Name, b.Name) }
			slices.SortFunc(own, byName)
			if err != nil || len(all) != len(own) || len(own) > 0 && !reflect.DeepEqual(all, own) {
				t.Errorf("all grants are %v, not %v (%v)", all, own, err)
			}
		})
	}
}

// TestRevisions: a grant has the references and commits that the Applications name.
func TestRevisions(t *testing.T) {
	h := &hub{apps: map[client.ObjectKey]*argocd.Application{}}
	commit := strings.Repeat("0a", 20)
	for name, revision := range map[string]string{"a": "refs/pull/7/head", "b": commit, "c": "main", "d": "pull/8/head"} {
		h.deliver(name, "one", "one")
		app := h.apps[client.ObjectKey{Namespace: "argocd", Name: name}]
		app.Spec.Raw = []byte(strings.ReplaceAll(string(app.Spec.Raw), "refs/pull/7/head", revision))
	}
	got, _, err := Grants{h}.Of(t.Context(), cluster, source.Name("one", repo))
	slices.Sort(got.References)
	if err != nil || !slices.Equal(got.References, []string{"refs/pull/7/head", "refs/pull/8/head"}) || !slices.Equal(got.Commits, []string{commit}) {
		t.Errorf("the grant is %+v (%v)", got, err)
	}
}
