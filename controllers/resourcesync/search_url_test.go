package resourcesync

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// acm is an API server with MultiClusterHubs in the given namespaces.
type acm struct {
	client.Reader
	namespaces []string
	err        error
	reads      int
}

func (a *acm) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	a.reads++
	out := list.(*unstructured.UnstructuredList)
	for _, ns := range a.namespaces {
		var hub unstructured.Unstructured
		hub.SetNamespace(ns)
		out.Items = append(out.Items, hub)
	}
	return a.err
}

func TestDiscovery(t *testing.T) {
	address := func(ns string) string { return "https://search-search-api." + ns + ".svc:4010/searchapi/graphql" }
	for title, tc := range map[string]struct {
		acm        acm
		want, says string
	}{
		"the usual one":   {acm: acm{namespaces: []string{"open-cluster-management"}}, want: address("open-cluster-management")},
		"somewhere else":  {acm: acm{namespaces: []string{"acm"}}, want: address("acm")},
		"not ACM":         {acm: acm{err: &meta.NoKindMatchError{}}, says: "this hub is not ACM's"},
		"not set up yet":  {acm: acm{}, says: "0 MultiClusterHubs"},
		"which one":       {acm: acm{namespaces: []string{"a", "b"}}, says: "2 MultiClusterHubs"},
		"no right to see": {acm: acm{err: errors.New("forbidden")}, says: "forbidden"},
	} {
		t.Run(title, func(t *testing.T) {
			got, err := NewDiscovery(&tc.acm).URL(t.Context())
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if (err != nil) != (tc.says != "") || err != nil && (!strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "--search")) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestDiscoveryRepeatsItsSearch(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	hub := &acm{namespaces: []string{"a"}}
	d := NewDiscovery(hub)
	d.clock = now
	for range 3 {
		if _, err := d.URL(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if hub.reads != 1 {
		t.Errorf("%d reads", hub.reads)
	}
	hub.namespaces = []string{"b"}
	now.Step(rediscover)
	if got, _ := d.URL(t.Context()); !strings.Contains(got, ".b.svc") {
		t.Errorf("got %q", got)
	}
}
