package argocd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestProjectsPermitWhatTheTableSays holds Argo CD's own functions against the table that ours are held against.
func TestProjectsPermitWhatTheTableSays(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "pkg/authorization/testdata/projects.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Sources []struct {
			Patterns  []string
			Repo      string
			Permitted bool
		}
		Destinations []struct {
			Entries                 []v1alpha1.ApplicationDestination
			Name, Server, Namespace string
			Permitted               bool
		}
		Namespaces []struct {
			Patterns  []string
			Namespace string
			Permitted bool
		}
	}
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Sources) == 0 || len(cases.Destinations) == 0 || len(cases.Namespaces) == 0 {
		t.Fatal("the table is empty")
	}
	for _, tc := range cases.Sources {
		p := v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SourceRepos: tc.Patterns}}
		if got := p.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: tc.Repo}); got != tc.Permitted {
			t.Errorf("%q on %q: Argo CD says %t", tc.Patterns, tc.Repo, got)
		}
	}
	for _, tc := range cases.Destinations {
		p := v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{Destinations: tc.Entries}}
		to := v1alpha1.ApplicationDestination{Name: tc.Name, Server: tc.Server, Namespace: tc.Namespace}
		if got, err := p.IsDestinationPermitted(to, nil); err != nil || got != tc.Permitted {
			t.Errorf("%v on %v: Argo CD says %t, %v", tc.Entries, to, got, err)
		}
	}
	for _, tc := range cases.Namespaces {
		p := v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SourceNamespaces: tc.Patterns}}
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: tc.Namespace}}
		if got := p.IsAppNamespacePermitted(app, "argocd"); got != tc.Permitted {
			t.Errorf("%q on %s: Argo CD says %t", tc.Patterns, tc.Namespace, got)
		}
	}
}
