package source

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestName(t *testing.T) {
	for address, prefix := range map[string]string{
		"https://git.example.com/team/apps.git":              "apps-",
		"https://git.example.com/team/Apps":                  "apps-",
		"git@git.example.com:team/apps.git":                  "apps-",
		"ssh://git@git.example.com:7999/p/my_repo.git":       "my-repo-",
		"https://user:p@ss@git.example.com/apps?token=x/y":   "apps-",
		"https://git.example.com/" + strings.Repeat("a", 99): strings.Repeat("a", maxSlug) + "-",
		"https://git.example.com/…":                          "",
		"":                                                   "",
	} {
		name := Name(project, address)
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			t.Errorf("%q has the name %q: %v", address, name, errs)
		}
		if !strings.HasPrefix(name, prefix) || len(name) != len(prefix)+hashLength+len(dot)+hashLength {
			t.Errorf("%q has the name %q, without the prefix %q", address, name, prefix)
		}
	}
}

func TestNamesDiffer(t *testing.T) {
	names := map[string]string{}
	for _, address := range []string{
		"https://git.example.com/a/apps", "https://git.example.com/b/apps", "https://git.example.com/a/apps.git",
		"https://git.example.com/a/Apps", "http://git.example.com/a/apps", "https://git.example.com/a/apps/",
	} {
		if before, there := names[Name(project, address)]; there {
			t.Errorf("%q and %q have the same name", before, address)
		}
		names[Name(project, address)] = address
	}
}

// A password in an address must not be part of a name, because users of the cluster see the name.
func TestNameHidesPasswords(t *testing.T) {
	if name := Name(project, "https://user:hunter2@git.example.com/apps"); strings.Contains(name, "hunter2") {
		t.Errorf("the name %q has the password", name)
	}
}

// TestNamesOfProjects: AppProjects share no name, and each name tells the former name of the repository.
func TestNamesOfProjects(t *testing.T) {
	one, two := Name("one", apps), Name("two", apps)
	if one == two || Former(one) != Former(two) || Former(one) != stem(apps) || Former(Former(one)) != Former(one) {
		t.Errorf("the names are %s and %s", one, two)
	}
	names := ReadNames(WriteNames("one", []string{values, apps, values}))
	if !slices.Equal(names, []string{one, Name("one", values)}) {
		t.Errorf("the names in the work are %v", names)
	}
	if none := ReadNames(WriteNames("one", nil)); len(none) > 0 {
		t.Errorf("without a repository, the names are %v", none)
	}
}

func TestPath(t *testing.T) {
	want := "/apis/source.apps.open-cluster-management.io/v1alpha1/namespaces/cluster1/repositories/apps-1/proxy"
	if got := Path("cluster1", "apps-1"); got != want {
		t.Errorf("Path is %s, not %s", got, want)
	}
}
