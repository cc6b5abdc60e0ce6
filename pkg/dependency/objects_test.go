package dependency_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

func TestReferences(t *testing.T) {
	secret := func(name string) dependency.Reference {
		return dependency.Reference{Kind: dependency.SecretKind, Name: name}
	}
	many := make([]string, dependency.MaxObjects+1)
	for i := range many {
		many[i] = "secret/s" + strings.Repeat("x", i)
	}
	for title, tc := range map[string]struct {
		annotation string
		want       []dependency.Reference
		says       string
	}{
		"none": {annotation: " , "},
		"two": {annotation: "secret/a, ConfigMap/b.c",
			want: []dependency.Reference{secret("a"), {Kind: dependency.ConfigMapKind, Name: "b.c"}}},
		"an object twice":     {annotation: "secret/a,Secret/a", want: []dependency.Reference{secret("a")}},
		"an unsupported kind": {annotation: "deployment/a", says: `"deployment/a" is neither`},
		"another namespace":   {annotation: "secret/other/a", says: `is not a valid name of a Secret`},
		"another name": {annotation: "secret/a=b",
			want: []dependency.Reference{{Kind: dependency.SecretKind, Name: "a", As: "b"}}},
		"another namespace there": {annotation: "secret/a=ns/b,secret/a",
			want: []dependency.Reference{{Kind: dependency.SecretKind, Name: "a", Namespace: "ns", As: "b"}, secret("a")}},
		"no name there":      {annotation: "secret/a=", says: "is not a valid name of a Secret"},
		"no namespace there": {annotation: "secret/a=/b", says: "the namespace is not a valid name"},
		"too deep":           {annotation: "secret/a=b/c/d", says: "is not a valid name of a Secret"},
		"no kind":            {annotation: "a", says: `"a" is neither`},
		"no name":            {annotation: "secret/", says: `is not a valid name of a Secret`},
		"too many":           {annotation: strings.Join(many, ","), says: "the annotation names 51 objects, but may name at most 50"},
	} {
		got, err := dependency.References(tc.annotation)
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
		refs, err := dependency.References(annotation)
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		for _, ref := range refs {
			if strings.ContainsAny(ref.Name+ref.Namespace+ref.As, "/,=") {
				t.Errorf("%q reaches %q", annotation, ref.Name)
			}
		}
	})
}

// placed returns objects with unchanged names in a namespace of the cluster.
func placed(namespace string, objects ...dependency.Object) []dependency.Placed {
	out := make([]dependency.Placed, len(objects))
	for i, o := range objects {
		out[i] = dependency.Placed{Object: o, To: types.NamespacedName{Namespace: namespace, Name: o.GetName()}}
	}
	return out
}

func TestObjectsThatDoNotFit(t *testing.T) {
	c := &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", work.MaxPayload)}}
	_, err := dependency.RenderObjects(work.Key(fixture.Application("a").Obj()), placed("apps", c))
	if large, ok := errors.AsType[*dependency.TooLargeError](err); !ok || large.Size <= work.MaxPayload {
		t.Errorf("got %v", err)
	}
}

// TestObjectsOfTwoNamespaces checks two hub namespaces: neither can take over the other's objects on a cluster.
func TestObjectsOfTwoNamespaces(t *testing.T) {
	manager := func(namespace string) string {
		s := &corev1.Secret{}
		s.Namespace, s.Name = namespace, "db"
		w, err := dependency.RenderObjects(work.Key(fixture.Application("a").Obj()), placed("apps", s))
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
		if got := dependency.KindPermitted(p, dependency.SecretKind); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
}
