package work_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

func name(app string, uid types.UID) string {
	return work.Name(fixture.Application(app).UID(uid).Obj())
}

func TestName(t *testing.T) {
	fits := strings.Repeat("a", work.MaxNameLength-6)
	tests := map[string]struct{ app, want string }{
		"as older controllers have it": {"pcluster2-guestbook-app", "pcluster2-guestbook-app-4a491"},
		"with dots":                    {"a.b.c", "a.b.c-4a491"},
		"just fits":                    {fits, fits + "-4a491"},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if got := name(tc.app, fixture.UID); got != tc.want {
				t.Errorf("Name = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNameOfALongApplication(t *testing.T) {
	long := strings.Repeat("a", 247)
	dashed := strings.Repeat("a", work.MaxNameLength-22) + ".-" + strings.Repeat("b", 40)
	seen := map[string]string{}
	for _, app := range []string{long + "1", long + "2", dashed} {
		for _, uid := range []types.UID{"11111-a", "11111-b"} {
			got := name(app, uid)
			if len(got) > work.MaxNameLength {
				t.Errorf("%d characters", len(got))
			}
			if errs := validation.IsDNS1123Subdomain(got); len(errs) > 0 {
				t.Errorf("%q: %v", got, errs)
			}
			if got != name(app, uid) {
				t.Errorf("%q is not stable", got)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%q stands for %s and %s", got, other, app)
			}
			seen[got] = app
		}
	}
}

func TestNameOfAnApplicationThatWasNeverStored(t *testing.T) {
	if got := name("a", ""); got != "a-" {
		t.Errorf("got %q", got)
	}
}

func TestKeyWithoutCluster(t *testing.T) {
	if key := work.Key(fixture.Application("a").Cluster("").Obj()); key != (types.NamespacedName{}) {
		t.Errorf("got %s", key)
	}
}

func TestNamedAfter(t *testing.T) {
	long := strings.Repeat("a", 240)
	for _, app := range []string{"guestbook", "a.b", long} {
		if got := name(app, "12345-x"); !work.NamedAfter(got, app) {
			t.Errorf("%s is not known to be a work of %s", got, app)
		}
	}
	for _, other := range []string{
		"addon-x", "guestbook", "guestbook-", "guestbook-1234", "guestbook-app-1234", "guestbook-123456", "xguestbook-12345",
	} {
		if work.NamedAfter(other, "guestbook") {
			t.Errorf("%s was taken for a work of guestbook", other)
		}
	}
}
