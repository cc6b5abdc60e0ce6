package companion_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/companion"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

func TestReferences(t *testing.T) {
	secret := func(name string) companion.Reference {
		return companion.Reference{Kind: companion.SecretKind, Name: name}
	}
	many := make([]string, companion.MaxObjects+1)
	for i := range many {
		many[i] = "secret/s" + strings.Repeat("x", i)
	}
	for title, tc := range map[string]struct {
		annotation string
		want       []companion.Reference
		says       string
	}{
		"none": {annotation: " , "},
		"two": {annotation: "secret/a, ConfigMap/b.c",
			want: []companion.Reference{secret("a"), {Kind: companion.ConfigMapKind, Name: "b.c"}}},
		"one twice":         {annotation: "secret/a,Secret/a", want: []companion.Reference{secret("a")}},
		"another kind":      {annotation: "deployment/a", says: `"deployment/a" is neither`},
		"another namespace": {annotation: "secret/other/a", says: `no Secret can have that name`},
		"no kind":           {annotation: "a", says: `"a" is neither`},
		"no name":           {annotation: "secret/", says: `no Secret can have that name`},
		"too many":          {annotation: strings.Join(many, ","), says: "it names 51 objects and may name 50"},
	} {
		got, err := companion.References(tc.annotation)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", title, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" && err == nil {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}

func FuzzReferences(f *testing.F) {
	f.Add("secret/a,configmap/b")
	f.Fuzz(func(t *testing.T, annotation string) {
		refs, err := companion.References(annotation)
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		for _, ref := range refs {
			if strings.ContainsAny(ref.Name, "/,") {
				t.Errorf("%q reaches %q", annotation, ref.Name)
			}
		}
	})
}

func TestObjectsThatDoNotFit(t *testing.T) {
	c := &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", work.MaxPayload)}}
	_, err := companion.RenderObjects(work.Key(fixture.Application("a").Obj()), "apps", companion.ObjectSet{ConfigMaps: []*corev1.ConfigMap{c}})
	if large, ok := errors.AsType[*companion.TooLargeError](err); !ok || large.Size <= work.MaxPayload {
		t.Errorf("got %v", err)
	}
}

// TestObjectsOfTwoNamespaces: what one namespace of the hub has put on a cluster, another cannot take over.
func TestObjectsOfTwoNamespaces(t *testing.T) {
	manager := func(namespace string) string {
		s := &corev1.Secret{}
		s.Namespace, s.Name = namespace, "db"
		w, err := companion.RenderObjects(work.Key(fixture.Application("a").Obj()), "apps", companion.ObjectSet{Secrets: []*corev1.Secret{s}})
		if err != nil {
			t.Fatal(err)
		}
		apply := w.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply
		if apply.Force {
			t.Error("it would overwrite what others have")
		}
		return apply.FieldManager
	}
	a, again, b := manager("a"), manager("a"), manager("b")
	if a != again || a == b {
		t.Errorf("%s, %s, %s", a, again, b)
	}
}

func TestKindPermitted(t *testing.T) {
	for spec, want := range map[string]bool{
		`{}`:                                true,
		`{"namespaceResourceWhitelist":[]}`: false,
		`{"namespaceResourceWhitelist":[{"group":"","kind":"Secret"}]}`:                                                          true,
		`{"namespaceResourceWhitelist":[{"group":"*","kind":"*"}]}`:                                                              true,
		`{"namespaceResourceWhitelist":[{"group":"apps","kind":"*"}]}`:                                                           false,
		`{"namespaceResourceBlacklist":[{"group":"","kind":"Sec*"}]}`:                                                            false,
		`{"namespaceResourceBlacklist":[{"group":"","kind":"ConfigMap"}]}`:                                                       true,
		`{"namespaceResourceWhitelist":[{"group":"*","kind":"*"}],"namespaceResourceBlacklist":[{"group":"*","kind":"Secret"}]}`: false,
		`{"namespaceResourceWhitelist":1}`:                                                                                       false,
	} {
		p := &argocd.AppProject{}
		p.Spec.Raw = []byte(spec)
		if got := companion.KindPermitted(p, companion.SecretKind); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
}
