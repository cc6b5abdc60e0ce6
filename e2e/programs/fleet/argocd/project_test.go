// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestProjectsPermitAsInTheTable compares Argo CD's own functions with the table for Towline's functions.
func TestProjectsPermitAsInTheTable(t *testing.T) {
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
		if got, err := destinationPermitted(p, to); err != nil || got != tc.Permitted {
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

// TestRequestsNameTheRepositoriesOfArgoCD: the addresses that Towline checks include all repositories that Argo CD
// would deploy from.
func TestRequestsNameTheRepositoriesOfArgoCD(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "pkg/authorization/testdata/requests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Spec      v1alpha1.ApplicationSpec
		Operation v1alpha1.Operation
		Sources   []string
	}
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("the table is empty")
	}
	for _, tc := range cases {
		sources := tc.Spec.GetSources()
		if tc.Spec.SourceHydrator != nil {
			sources = append(sources, tc.Spec.SourceHydrator.GetDrySource(), tc.Spec.SourceHydrator.GetSyncSource())
		}
		if sync := tc.Operation.Sync; sync != nil {
			sources = append(sources, *sync.Source)
			sources = append(sources, sync.Sources...)
		}
		for _, source := range sources {
			if !slices.Contains(tc.Sources, source.RepoURL) {
				t.Errorf("Argo CD takes %q from %+v, and we know of %q", source.RepoURL, tc.Spec, tc.Sources)
			}
		}
	}
}

// TestAddressesOfRepositoriesHaveOneKey: package authorization finds each address in a spec or an operation by the end
// of its key, and skips the only field with free content.
func TestAddressesOfRepositoriesHaveOneKey(t *testing.T) {
	addresses, free := 0, 0
	walk(t, "spec", reflect.TypeFor[v1alpha1.ApplicationSpec](), nil, func(path string, of reflect.Type) {
		key := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
		switch {
		case of == reflect.TypeFor[runtime.RawExtension]():
			free++
			if !strings.HasSuffix(path, ".helm.valuesObject") {
				t.Errorf("%s may hold anything", path)
			}
		case strings.HasSuffix(key, "repourl") && of.Kind() == reflect.String:
			addresses++
		case strings.Contains(key, "repo"):
			t.Errorf("%s may be an address", path)
		}
	})
	walk(t, "operation", reflect.TypeFor[v1alpha1.Operation](), nil, func(path string, of reflect.Type) {
		key := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
		if strings.Contains(key, "repo") && !strings.HasSuffix(key, "repourl") {
			t.Errorf("%s may be an address", path)
		}
	})
	if addresses < 3 || free == 0 {
		t.Errorf("%d addresses, and %d free fields: the walk goes past them", addresses, free)
	}
}

// walk visits the fields of a type by their names in JSON, each type once on a path.
func walk(t *testing.T, path string, of reflect.Type, above []reflect.Type, visit func(string, reflect.Type)) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	visit(path, of)
	if of.Kind() != reflect.Struct || slices.Contains(above, of) {
		return
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || name == "" && options != "inline":
		case options == "inline":
			walk(t, path, field.Type, append(above, of), visit)
		default:
			walk(t, path+"."+name, field.Type, append(above, of), visit)
		}
	}
}
