package dependency

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestAlone checks that only an Application of the default project without dependencies needs no decision.
func TestAlone(t *testing.T) {
	app := func() *fixture.ApplicationBuilder { return fixture.Application("web").Cluster("c1") }
	known := Credentials{{Secret: "s", URL: "https://git.example.com/private"}}
	for title, tc := range map[string]struct {
		app  *argocd.Application
		want bool
	}{
		"with nothing":                  {app().Spec(`{"project":"default","source":{"repoURL":"https://git.example.com/open"}}`).Obj(), true},
		"of no project":                 {app().Spec(`{}`).Obj(), true},
		"of a team's namespace":         {app().Namespace("team").Spec(`{}`).Obj(), false},
		"of what is no namespace there": {app().Annotation(apis.AnnotationAppNamespace, "No!").Spec(`{}`).Obj(), true},
		"of a project":                  {app().Spec(`{"project":"team"}`).Obj(), false},
		"of a private source":           {app().Spec(`{"source":{"repoURL":"https://git.example.com/private.git"}}`).Obj(), false},
		"with objects":                  {app().Spec(`{}`).Annotation(apis.AnnotationWith, "secret/a").Obj(), false},
		"with what is wrong":            {app().Spec(`{}`).Condition(apis.ConditionDependencyError, "x").Obj(), false},
	} {
		if got := Alone(tc.app, Keys(work.Key(tc.app), known, ReadSpec(tc.app)), "argocd"); got != tc.want {
			t.Errorf("an Application %s: %t", title, got)
		}
	}
}

// TestChangesThatTriggerDecisions checks that only a change of the facts of decisions triggers a decision.
func TestChangesThatTriggerDecisions(t *testing.T) {
	app := func() *fixture.ApplicationBuilder { return fixture.Application("web") }
	for title, tc := range map[string]struct {
		after *argocd.Application
		same  bool
	}{
		"nothing":                       {app().Obj(), true},
		"its health":                    {app().Health("Healthy").Obj(), true},
		"a condition of others":         {app().Condition("SyncError", "x").Obj(), true},
		"a label":                       {app().Label("a", "b").Obj(), false},
		"an annotation":                 {app().Annotation("a", "b").Obj(), false},
		"its spec":                      {app().Spec(`{}`).Obj(), false},
		"its deletion":                  {app().Deleted(now).Obj(), false},
		"what is wrong":                 {app().Condition(apis.ConditionDependencyError, "x").Obj(), false},
		"that its project has not come": {app().Condition(InvalidSpec, "x").Obj(), false},
	} {
		if got := SameApplication(app().Obj(), tc.after); got != tc.same {
			t.Errorf("%s: %t", title, got)
		}
	}
	own := func() *workv1.ManifestWork { return workOf(webApp().Obj()) }
	beside := func() *workv1.ManifestWork { return ofProject(there()).Work }
	for title, tc := range map[string]struct {
		of   func() *workv1.ManifestWork
		edit func(*workv1.ManifestWork)
		same bool
	}{
		"the spec of an Application's":     {own, func(w *workv1.ManifestWork) { w.Generation++ }, false},
		"the end of an Application's":      {own, going, false},
		"the status of an Application's":   {own, refusing, true},
		"nothing of a dependency's":        {beside, applied, true},
		"the label of a dependency's":      {beside, func(w *workv1.ManifestWork) { w.Labels = nil }, false},
		"the annotation of a dependency's": {beside, releasedToWeb, false},
		"a refusal of a dependency's":      {beside, refusing, false},
		"a dependency's is unseen":         {beside, unseen, false},
	} {
		after := tc.of()
		tc.edit(after)
		if got := SameWork(tc.of(), after); got != tc.same {
			t.Errorf("%s: %t", title, got)
		}
	}
	before := secretOf("git", "https://git.example.com/web.git")
	for title, tc := range map[string]struct {
		edit func(*corev1.Secret)
		same bool
	}{
		"a rotation":          {func(s *corev1.Secret) { s.Data["password"] = []byte("x") }, true},
		"another address":     {func(s *corev1.Secret) { s.Data["url"] = []byte("https://git.example.com/x.git") }, false},
		"no repository's":     {func(s *corev1.Secret) { s.Labels = nil }, false},
		"it stays on the hub": {func(s *corev1.Secret) { s.Annotations = nil }, false},
	} {
		after := before.DeepCopy()
		tc.edit(after)
		if got := SameScope(&before, after); got != tc.same {
			t.Errorf("%s: %t", title, got)
		}
	}
}

// TestConcerns checks that the works of an Application's dependencies concern the Application.
func TestConcerns(t *testing.T) {
	app, other := naming("secret/db").Obj(), webApp().Spec(`{"project":"other"}`).UID("1").Obj()
	for title, s := range map[string]*situation{
		"project": ofProject(), "credential": ofCredential(), "objects": ofObjects(naming("secret/db")),
	} {
		if !s.Concerns(app) || s.Concerns(other) {
			t.Errorf("%s: %t, of another %t", title, s.Concerns(app), s.Concerns(other))
		}
	}
	if ofCredential(keptSecret).Concerns(app) || ofCredential(noSecret).Concerns(app) {
		t.Error("a credential that does not travel concerns somebody")
	}
}

// TestWanted checks that Towline reads only named and permitted objects.
func TestWanted(t *testing.T) {
	s := ofObjects(naming("secret/db,configmap/settings"))
	if got := s.Wanted(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	s.Project.Spec.Raw = []byte(`{"namespaceResourceBlacklist":[{"group":"","kind":"Secret"}]}`)
	if got := s.Wanted(); !slices.Equal(got, []Reference{{Kind: ConfigMapKind, Name: "settings"}}) {
		t.Errorf("%v", got)
	}
	if got := ofObjects(naming("pod/x")).Wanted(); got != nil {
		t.Errorf("%v", got)
	}
	if got := of(ObjectsKey(types.NamespacedName{Namespace: cluster, Name: "web-1"})).ProjectName(); got != "" {
		t.Errorf("objects of nobody have project %q", got)
	}
}

// TestOwnOf checks that the name of an objects work tells the Application's own work, unless the name was cut.
func TestOwnOf(t *testing.T) {
	own := types.NamespacedName{Namespace: cluster, Name: "web-12345"}
	if got, known := OwnOf(ObjectsKey(own)); got != own || !known {
		t.Errorf("%s, %t", got, known)
	}
	own.Name = strings.Repeat("x", work.MaxNameLength)
	if _, known := OwnOf(ObjectsKey(own)); known {
		t.Error("a name that was cut tells another")
	}
	if _, known := OwnOf(ProjectKey(cluster, "web")); known {
		t.Error("a project's tells one")
	}
}
