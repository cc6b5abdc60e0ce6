package appreport_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestSpeaker(t *testing.T) {
	const name = "guestbook-12345"
	born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	app := func(namespace string, minutes int, edits ...func(*argocd.Application)) argocd.Application {
		a := fixture.Application("guestbook").Namespace(namespace).Obj()
		a.CreationTimestamp = metav1.NewTime(born.Add(time.Duration(minutes) * time.Minute))
		for _, edit := range edits {
			edit(a)
		}
		return *a
	}
	appliedAs := func(owner string) func(*argocd.Application) {
		return func(a *argocd.Application) {
			a.OwnerReferences = []metav1.OwnerReference{{Kind: "AppliedManifestWork", Name: owner}}
		}
	}
	hash := strings.Repeat("a", 64)
	going := func(a *argocd.Application) { a.DeletionTimestamp = &a.CreationTimestamp }
	named := func(a *argocd.Application) { a.Name = "forged" }
	for title, tc := range map[string]struct {
		marked []argocd.Application
		want   string
	}{
		"no Application":                       {nil, ""},
		"an Application of the work":           {[]argocd.Application{app("a", 0)}, "a"},
		"an Application with a different name": {[]argocd.Application{app("a", 0, named)}, ""},
		"a copy with the right name":           {[]argocd.Application{app("a", 0, named), app("b", 1)}, "b"},
		"a later copy":                         {[]argocd.Application{app("b", 1), app("a", 0)}, "a"},
		"two Applications of the same time":    {[]argocd.Application{app("b", 0), app("a", 0)}, "a"},
		"an earlier copy":                      {[]argocd.Application{app("a", 0), app("b", 1, appliedAs(hash+"-"+name))}, "b"},
		"applied as another work":              {[]argocd.Application{app("a", 0), app("b", 1, appliedAs(hash+"-x-"+name))}, "a"},
		"the old namespace is given up":        {[]argocd.Application{app("a", 0, going), app("b", 1)}, "b"},
		"only an Application in deletion":      {[]argocd.Application{app("a", 0, going)}, "a"},
	} {
		got := ""
		if speaker := appreport.Speaker(name, tc.marked); speaker != nil {
			got = speaker.Namespace
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", title, got, tc.want)
		}
	}
}
