package hub

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// paged is a reader with the given number of pages. Each page has one object, named after the length of the page's
// token.
type paged struct {
	client.Reader
	t     *testing.T
	pages int
}

func (p paged) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	if o.Limit != 7 || o.Namespace != "ns" || list.GetContinue() != "" {
		p.t.Errorf("asked for %+v into a list that has %q", o, list.GetContinue())
	}
	n := len(o.Continue)
	if n > p.pages {
		return errors.New("gone")
	}
	one := corev1.Secret{}
	one.Name = strconv.Itoa(n)
	list.(*corev1.SecretList).Items = append(list.(*corev1.SecretList).Items, one)
	if n+1 != p.pages {
		list.SetContinue("xxxxxxxxxx"[:n+1])
	}
	return nil
}

func TestPages(t *testing.T) {
	stop := errors.New("stop")
	for title, tc := range map[string]struct {
		pages int
		ends  map[string]error
		want  []string
		fails error
	}{
		"one":     {1, nil, []string{"0"}, nil},
		"several": {3, nil, []string{"0", "1", "2"}, nil},
		"enough":  {3, map[string]error{"1": ErrEnough}, []string{"0", "1"}, nil},
		"failed":  {3, map[string]error{"1": stop}, []string{"0", "1"}, stop},
	} {
		var got []string
		err := Pages(t.Context(), paged{t: t, pages: tc.pages}, func() *corev1.SecretList { return &corev1.SecretList{} },
			func(page *corev1.SecretList, token string) error {
				if strconv.Itoa(len(token)) != page.Items[0].Name {
					t.Errorf("%s: page %s has the token %q", title, page.Items[0].Name, token)
				}
				got = append(got, page.Items[0].Name)
				return tc.ends[page.Items[0].Name]
			}, client.InNamespace("ns"), client.Limit(7))
		if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.fails) {
			t.Errorf("%s: %v (-want +got):\n%s", title, err, diff)
		}
	}
	err := Pages(t.Context(), paged{t: t}, func() *corev1.SecretList { return &corev1.SecretList{} },
		func(*corev1.SecretList, string) error { return nil }, client.InNamespace("ns"), client.Limit(7))
	if err == nil {
		t.Error("the API server's error is lost")
	}
}
