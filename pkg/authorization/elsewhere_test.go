package authorization_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestElsewhere checks that an Application deploys to a cluster behind its own only if the project permits the
// cluster.
func TestElsewhere(t *testing.T) {
	edge, arn := argocd.Destination{Name: "edge-1"}, argocd.Destination{Server: "arn:aws:eks:eu-1:1:cluster/c"}
	name := func(name, namespace string) argocd.ProjectDestination {
		return argocd.ProjectDestination{Name: name, Namespace: namespace}
	}
	server := func(server, namespace string) argocd.ProjectDestination {
		return argocd.ProjectDestination{Server: server, Namespace: namespace}
	}
	for title, tc := range map[string]struct {
		to      argocd.Destination
		entries []argocd.ProjectDestination
		named   bool // permits Applications outside Argo CD's namespace
		any     bool // permits Applications in Argo CD's namespace
	}{
		"only the cluster itself": {to: edge, entries: []argocd.ProjectDestination{name("c1", "*"), name("in-cluster", "*"),
			server(apis.InClusterServer, "*")}},
		"every server":                   {to: edge, entries: []argocd.ProjectDestination{server("*", "*")}, any: true},
		"every name, in another way":     {to: edge, entries: []argocd.ProjectDestination{name("?*", "*")}, any: true},
		"every name but one":             {to: edge, entries: []argocd.ProjectDestination{name("!c2", "*")}, any: true},
		"the name":                       {to: edge, entries: []argocd.ProjectDestination{name("edge-1", "a")}, named: true, any: true},
		"the name, in another namespace": {to: edge, entries: []argocd.ProjectDestination{name("edge-1", "b")}},
		"a pattern of the name":          {to: edge, entries: []argocd.ProjectDestination{name("edge-*", "a")}, named: true, any: true},
		"the name, and it is forbidden":  {to: edge, entries: []argocd.ProjectDestination{name("edge-1", "a"), name("!edge-*", "a")}},
		"the name, and the cluster is":   {to: edge, entries: []argocd.ProjectDestination{name("edge-1", "a"), name("!c1", "a")}},
		"the name, and an address is":    {to: edge, entries: []argocd.ProjectDestination{name("edge-1", "a"), server("!https://x", "a")}},
		"the name, and the hub is": {to: edge, entries: []argocd.ProjectDestination{name("edge-1", "a"), server("!"+apis.InClusterServer,
			"a")}, named: true, any: true},
		"the address": {to: arn, entries: []argocd.ProjectDestination{server("arn:aws:eks:eu-1:1:cluster/*", "a")}, named: true,
			any: true},
		"every name, for an address":         {to: arn, entries: []argocd.ProjectDestination{name("*", "a")}, any: true},
		"the address, and a name is":         {to: arn, entries: []argocd.ProjectDestination{server("arn:*", "a"), name("!x", "b")}},
		"another address":                    {to: arn, entries: []argocd.ProjectDestination{server("https://c1", "*")}},
		"what is no destination":             {to: argocd.Destination{Name: "*"}, entries: []argocd.ProjectDestination{name("*", "*")}},
		"the cluster's address, on the hub":  {to: argocd.Destination{Server: "https://c1"}, entries: []argocd.ProjectDestination{name("c1", "a")}},
		"every namespace but the one wanted": {to: arn, entries: []argocd.ProjectDestination{server("arn:*", "*"), server("arn:*", "!a")}},
	} {
		p := &argocd.AppProject{Spec: argocd.AppProjectSpec{
			SourceRepos: []string{"*"}, SourceNamespaces: []string{"team-a"}, Destinations: tc.entries,
		}}
		p.Namespace, p.Name = "argocd", "p"
		request := authorization.Request{Project: "p", Sources: []string{"https://git.example.com/x"}, Namespace: "a", Elsewhere: tc.to}
		for namespace, want := range map[string]bool{"team-a": tc.named, "argocd": tc.any} {
			refusal := authorization.Project(p, namespace, "argocd", request, authorization.Cluster{Name: "c1", Server: "https://c1"})
			if (refusal == nil) != want {
				t.Errorf("%s, in %s: got %+v", title, namespace, refusal)
			}
			if refusal == nil {
				continue
			}
			if refusal.Reason != apis.ReasonDestinationForbidden || !strings.Contains(refusal.Message, "spec.destinations") {
				t.Errorf("%s, in %s: says %+v", title, namespace, refusal)
			}
			if (refusal.Missing != "") != tc.any {
				t.Errorf("%s, in %s: a rule refuses, or none permits: %q", title, namespace, refusal.Missing)
			}
		}
	}
}

// TestReadElsewhere checks the destination of an Application from annotations on the hub, and from the spec in a
// work.
func TestReadElsewhere(t *testing.T) {
	spec := func(destination string) string { return `{"destination":` + destination + `}` }
	for title, tc := range map[string]struct {
		annotation, destination string
		hub, sent               argocd.Destination
	}{
		"none":                {destination: `{"server":"https://kubernetes.default.svc"}`},
		"by the spec alone":   {destination: `{"name":"edge"}`, sent: argocd.Destination{Name: "edge"}},
		"in-cluster":          {annotation: "in-cluster", destination: `{"name":"in-cluster"}`},
		"by the annotation":   {annotation: "edge", destination: `{"server":"https://kubernetes.default.svc"}`, hub: argocd.Destination{Name: "edge"}},
		"sent with a slash":   {destination: `{"server":"https://kubernetes.default.svc/"}`},
		"sent to two at once": {destination: `{"name":"edge","server":"https://e"}`, sent: argocd.Destination{Name: "edge", Server: "https://e"}},
	} {
		b := fixture.Application("a").Spec(spec(tc.destination))
		if tc.annotation != "" {
			b.Annotation(apis.AnnotationDestinationName, tc.annotation)
		}
		hub, err := authorization.ReadSpec(b.Obj())
		sent, errSent := authorization.ReadSent(b.Obj())
		if err != nil || errSent != nil || hub.Elsewhere != tc.hub || sent.Elsewhere != tc.sent {
			t.Errorf("%s: got %+v, %v, and %+v, %v", title, hub, err, sent, errSent)
		}
	}
}
