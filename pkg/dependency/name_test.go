package dependency_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

func TestNames(t *testing.T) {
	own := types.NamespacedName{Namespace: "c1", Name: "guestbook-4a491"}
	for name, want := range map[types.NamespacedName]dependency.Kind{
		{Namespace: "c1", Name: "web.project.towline"}:             dependency.Project,
		{Namespace: "c1", Name: "web.credential.towline"}:          dependency.Credential,
		{Namespace: "c1", Name: "web.certificate.towline"}:         dependency.Certificate,
		{Namespace: "c1", Name: "ssh.host-keys.towline"}:           dependency.HostKeys,
		{Namespace: "c1", Name: "guestbook-4a491.objects.towline"}: dependency.Objects,
		{Namespace: "c1", Name: "web.namespace.towline"}:           dependency.Namespace,
	} {
		var got types.NamespacedName
		switch want {
		case dependency.Project:
			got = dependency.ProjectKey("c1", "web")
		case dependency.Credential:
			got = dependency.CredentialKey("c1", "web")
		case dependency.Certificate:
			got = dependency.CertificateKey("c1", "web")
		case dependency.HostKeys:
			got = dependency.HostKeysKey("c1")
		case dependency.Objects:
			got = dependency.ObjectsKey(own)
		case dependency.Namespace:
			got = dependency.NamespaceKey("c1", "web")
		}
		if got != name {
			t.Errorf("got %s, want %s", got, name)
		}
		if kind, ok := dependency.KindOf(name.Name); !ok || kind != want {
			t.Errorf("%s is taken for a %q", name, kind)
		}
	}
	for _, other := range []string{"", "guestbook-4a491", "towline", ".towline", "a.other.towline", "project.towline"} {
		if kind, ok := dependency.KindOf(other); ok {
			t.Errorf("%q is taken for a %s", other, kind)
		}
	}
}

// FuzzNamesAreUnique checks that no two works have the same name, for any names of projects, Secrets and
// Applications. No name is too long.
func FuzzNamesAreUnique(f *testing.F) {
	f.Add("web", "web.project.towline")
	f.Add(strings.Repeat("a", 253), strings.Repeat("a", 252)+"b")
	f.Add("x-4a491.objects.towline", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(validation.IsDNS1123Subdomain(a)) > 0 || len(validation.IsDNS1123Subdomain(b)) > 0 {
			t.Skip()
		}
		seen := map[string]string{}
		take := func(what, name string) {
			if before, ok := seen[name]; ok && before != what {
				t.Errorf("%s and %s are both called %s", before, what, name)
			}
			seen[name] = what
			if len(name) > work.MaxNameLength || len(validation.IsDNS1123Subdomain(name)) > 0 {
				t.Errorf("%s: %q cannot be the name of a ManifestWork", what, name)
			}
		}
		for _, name := range []string{a, b} {
			app := work.Key(fixture.Application(name).Obj())
			take("application "+name, app.Name)
			take("objects of "+name, dependency.ObjectsKey(app).Name)
			take("project "+name, dependency.ProjectKey("c1", name).Name)
			take("credential "+name, dependency.CredentialKey("c1", name).Name)
			take("certificate "+name, dependency.CertificateKey("c1", name).Name)
			take("host keys", dependency.HostKeysKey("c1").Name)
			if work.NamedAfter(dependency.ProjectKey("c1", a).Name, b) {
				t.Errorf("the work of project %s would pass for one of Application %s", a, b)
			}
		}
	})
}

func TestCredentialName(t *testing.T) {
	if got := dependency.CredentialName("apps"); got != "towline-apps" {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("a", 250)
	a, b := dependency.CredentialName(long+"b"), dependency.CredentialName(long+"c")
	if a == b || len(a) > 253 || len(validation.IsDNS1123Subdomain(a)) > 0 {
		t.Errorf("%q and %q", a, b)
	}
}
