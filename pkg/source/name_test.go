package source

import (
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
		name := Name(address)
		if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
			t.Errorf("%q has the name %q: %v", address, name, errs)
		}
		if !strings.HasPrefix(name, prefix) || len(name) != len(prefix)+hashLength {
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
		if before, there := names[Name(address)]; there {
			t.Errorf("%q and %q have the same name", before, address)
		}
		names[Name(address)] = address
	}
}

// A password in an address must not be part of a name, because users of the cluster see the name.
func TestNameHidesPasswords(t *testing.T) {
	if name := Name("https://user:hunter2@git.example.com/apps"); strings.Contains(name, "hunter2") {
		t.Errorf("the name %q has the password", name)
	}
}

func TestDelivered(t *testing.T) {
	const other = "https://git.example.com/other"
	value := WriteNames("one", []string{apps, values})
	for name, test := range map[string]struct {
		project, address string
		want             bool
	}{
		"the first":        {"one", apps, true},
		"the second":       {"one", values, true},
		"another project":  {"two", apps, false},
		"another address":  {"one", other, false},
		"no project":       {"", apps, false},
		"the name, hashed": {"one", Name(apps), false},
	} {
		if got := Delivered(value, test.project, test.address); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if names := ReadNames(value); len(names) != 2 || Delivered(strings.Join(names, ","), "one", apps) {
		t.Errorf("names without an AppProject are for no AppProject: %v", names)
	}
}

func TestPath(t *testing.T) {
	want := "/apis/source.apps.open-cluster-management.io/v1alpha1/namespaces/cluster1/repositories/apps-1/proxy"
	if got := Path("cluster1", "apps-1"); got != want {
		t.Errorf("Path is %s, not %s", got, want)
	}
}
