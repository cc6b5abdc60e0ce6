package argocd_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestDestinationOnTheCluster(t *testing.T) {
	const name, server = apis.AnnotationDestinationName, apis.AnnotationDestinationServer
	for title, tc := range map[string]struct {
		annotations map[string]string
		want        argocd.Destination
		says        string
	}{
		"none":   {want: argocd.InCluster},
		"a name": {map[string]string{name: "edge-1"}, argocd.Destination{Name: "edge-1"}, ""},
		"an ARN": {map[string]string{server: "arn:aws:eks:eu-1:1:cluster/c"},
			argocd.Destination{Server: "arn:aws:eks:eu-1:1:cluster/c"}, ""},
		"a slash at the end":     {map[string]string{server: "https://e:6443/"}, argocd.Destination{Server: "https://e:6443"}, ""},
		"both":                   {map[string]string{name: "a", server: "b"}, argocd.Destination{Name: "a", Server: "b"}, "exclude each other"},
		"an empty name":          {map[string]string{name: ""}, argocd.Destination{}, "the value is empty"},
		"a pattern":              {map[string]string{name: "edge-*"}, argocd.Destination{Name: "edge-*"}, name + `: "edge-*"`},
		"a pattern that forbids": {map[string]string{server: "!x"}, argocd.Destination{Server: "!x"}, server + `: "!x"`},
		"too long": {map[string]string{name: strings.Repeat("a", 513)}, argocd.Destination{Name: strings.Repeat("a", 513)},
			"is not the name"},
	} {
		b := fixture.Application("a")
		for key, value := range tc.annotations {
			b.Annotation(key, value)
		}
		got := b.Obj().DestinationThere()
		err := got.Check()
		if got != tc.want || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %+v, %v", title, got, err)
		}
	}
	if (argocd.Destination{Name: "in-cluster"}).Canonical() != argocd.InCluster {
		t.Error("the name in-cluster is another cluster")
	}
}
