package contract

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// FuzzProjects: an AppProject permits the same by Towline's functions and by Argo CD's functions. If the versions of Argo CD
// read a pattern differently, Towline must permit no more than Argo CD.
func FuzzProjects(f *testing.F) {
	f.Add("https://git.example.com/*", "!https://git.example.com/a", "https://git.example.com/A.git", "c1", "team-a")
	f.Add("git@x:y/**", "*", "ssh://git@x/y/z", "https://c1", "/^team-[ab]$/")
	f.Add("//", "/", "a", "c1", "team-a")
	f.Add(" \t!", "", "https://git.example.com/a", "c1", "team-a")
	f.Add("team-*-dev", "!a{}*", "https://git.example.com/a", "a", "team-dev")
	f.Add("{a,b}", "!*", "https://git.example.com/%zz", "*", "!team")
	f.Fuzz(func(t *testing.T, pattern, other, repo, name, namespace string) {
		if max(len(pattern), len(other), len(name)) > 512 {
			return // Argo CD may need endless time for the pattern, and Towline permits nothing by the pattern
		}
		const server = "https://c1"
		project := v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{
			SourceRepos: []string{pattern, other}, SourceNamespaces: []string{pattern, other},
			Destinations: []v1alpha1.ApplicationDestination{
				{Server: pattern, Name: other, Namespace: name}, {Server: other, Name: name, Namespace: "*"}, {Server: "*", Namespace: pattern}},
		}}
		ours := &argocd.AppProject{}
		if data, err := json.Marshal(project); err != nil || json.Unmarshal(data, ours) != nil ||
			!equality.Semantic.DeepEqual(ours.Spec.SourceRepos, project.Spec.SourceRepos) {
			return // not UTF-8
		}
		disputed := disputed([]string{pattern, other, name}, authorization.NormalizeURL(repo), name, namespace, server)
		compare(t, "the repository "+repo, disputed, authorization.SourcePermitted(ours, repo), func() bool {
			return project.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: repo})
		})
		compare(t, "the destination "+name+" "+namespace, disputed, authorization.DestinationPermitted(ours, name, server, namespace), func() bool {
			permitted, err := project.IsDestinationPermitted(&v1alpha1.Cluster{Server: server, Name: name}, namespace, nil)
			return err == nil && permitted
		})
		if namespace != "" && !slow.MatchString(pattern) && !slow.MatchString(other) { // every Application has a namespace
			compare(t, "the namespace "+namespace, disputed, authorization.SourceNamespacePermitted(ours, namespace, "argocd"), func() bool {
				return project.IsAppNamespacePermitted(&v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}, "argocd")
			})
		}
	})
}

// slow matches regular expressions that may need endless time in Argo CD.
var slow = regexp.MustCompile(`/.*[+*{].*/`)

// disputed reports whether the versions of Argo CD read one of the patterns differently for one of the values.
func disputed(patterns []string, values ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		repo := authorization.NormalizeURL(strings.TrimPrefix(pattern, "!"))
		return slices.ContainsFunc(values, func(value string) bool {
			return authorization.Disputed(pattern, value) || authorization.Disputed(repo, value, '/')
		})
	})
}

// compare compares Towline's answer with Argo CD's answer. Towline may permit less by a disputed pattern. Some patterns make
// Argo CD panic. Argo CD then deploys nothing, and compare does not check the case.
func compare(t *testing.T, what string, disputed, ours bool, theirs func() bool) {
	t.Helper()
	defer func() { _ = recover() }()
	if want := theirs(); ours != want && (ours || !disputed) {
		t.Errorf("%q: we say %t, Argo CD says %t", what, ours, want)
	}
}

// FuzzApplications: an Application of Argo CD's type keeps all its fields in Towline's type, and has the same meaning.
// On the cluster, only the destination differs.
func FuzzApplications(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"a","namespace":"argocd","finalizers":["resources-finalizer.argocd.argoproj.io"]},"spec":{"project":"p",` +
			`"source":{"repoURL":"https://x","helm":{"valuesObject":{"a":9007199254740993}}},"destination":{"name":"c","namespace":"n"}}}`,
		`{"metadata":{"name":"a","annotations":{"argocd.argoproj.io/refresh":"hard"}},"spec":{"sources":[{"repoURL":"a"},{"ref":"b","repoURL":"c"}],` +
			`"syncPolicy":{"automated":{"enabled":false,"prune":true},"retry":{"limit":3}}},` +
			`"operation":{"sync":{"revision":"x"},"info":[{"name":"a","value":"b"}]}}`,
		`{"metadata":{"name":"a"},"spec":{"sourceHydrator":{"drySource":{"repoURL":"<&>"},"syncSource":{"targetBranch":"b"}},` +
			`"ignoreDifferences":[{"kind":"*"}]}}`,
		`{"metadata":{"name":"a"},"spec":{"source":{"repoURL":"x","kustomize":{},"helm":{},"directory":{}},"syncPolicy":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var theirs, back v1alpha1.Application
		if !utf8.Valid(data) || json.Unmarshal(data, &theirs) != nil {
			return
		}
		theirs.Status = v1alpha1.ApplicationStatus{}
		text, err := json.Marshal(&theirs)
		if err != nil || json.Unmarshal(text, &theirs) != nil {
			return // an API server would not have stored the input
		}
		ours := &argocd.Application{}
		if err := json.Unmarshal(text, ours); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out, err := json.Marshal(ours)
		if err != nil || json.Unmarshal(out, &back) != nil || !same(t, theirs.Spec, back.Spec) ||
			!same(t, theirs.Operation, back.Operation) || !same(t, theirs.ObjectMeta, back.ObjectMeta) {
			t.Errorf("%s became %s, %v", text, out, err)
		}
		_, refreshes := theirs.IsRefreshRequested()
		if theirs.Spec.GetProject() != ours.Project() || theirs.CascadedDeletion() != argocd.Destroys(ours.Finalizers) ||
			refreshes != (ours.Refresh() != "") {
			t.Errorf("%s means something else", text)
		}
		there(t, &theirs, ours)
	})
}

func same(t *testing.T, a, b any) bool {
	t.Helper()
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// normalize normalizes a spec as Argo CD does (2.14, NormalizeApplicationSpec), by the types' own IsZero.
func normalize(spec *v1alpha1.ApplicationSpec) {
	spec.Project = spec.GetProject()
	if spec.SyncPolicy.IsZero() {
		spec.SyncPolicy = nil
	}
	sources := []*v1alpha1.ApplicationSource{}
	if spec.Source != nil {
		sources = append(sources, spec.Source)
	}
	for i := range spec.Sources {
		sources = append(sources, &spec.Sources[i])
	}
	for _, s := range sources {
		if s.Kustomize.IsZero() {
			s.Kustomize = nil
		}
		if s.Helm.IsZero() {
			s.Helm = nil
		}
		if s.Directory.IsZero() {
			s.Directory = nil
		}
	}
}

// there compares the Application in the work with the Application on the hub.
func there(t *testing.T, theirs *v1alpha1.Application, ours *argocd.Application) {
	t.Helper()
	metav1.SetMetaDataAnnotation(&ours.ObjectMeta, apis.AnnotationCluster, "c1")
	w, err := work.Render(ours, work.Requests{})
	if err != nil {
		return // too large
	}
	var got v1alpha1.Application
	strict := json.NewDecoder(bytes.NewReader(w.Spec.Workload.Manifests[0].Raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		t.Fatalf("%s: %v", w.Spec.Workload.Manifests[0].Raw, err)
	}
	want := theirs.Spec.DeepCopy()
	want.Destination.Server, want.Destination.Name = v1alpha1.KubernetesInternalAPIServerAddr, ""
	if p := want.SyncPolicy; p != nil && p.Automated != nil && p.Automated.Enabled != nil {
		if *p.Automated.Enabled {
			p.Automated.Enabled = nil
		} else {
			p.Automated = nil
		}
	}
	normalize(want)
	if !same(t, want, got.Spec) || got.Operation != nil || got.Name != theirs.Name ||
		strings.Contains(strings.Join(got.Finalizers, " "), "pre-delete") {
		t.Errorf("there it is %s", w.Spec.Workload.Manifests[0].Raw)
	}
}
