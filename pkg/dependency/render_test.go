package dependency_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/work"
)

// webProject has all rules of a project for clusters, and unknown fields.
const webProject = `{"description":"<web>","newInSpec":{"n":9007199254740993},
 "sourceRepos":["https://git.example.com/*"],"sourceNamespaces":["team-*"],
 "destinations":[
  {"server":"*","namespace":"web-*","newInDestination":true},
  {"name":"c1","namespace":"web"},
  {"server":"https://c1.example.com:6443","namespace":"web"},
  {"name":"c2","namespace":"web-of-c2"}],
 "destinationServiceAccounts":[
  {"server":"https://c1.example.com:6443","namespace":"web","defaultServiceAccount":"deployer"},
  {"server":"https://c2.example.com:6443","namespace":"web","defaultServiceAccount":"other"}],
 "syncWindows":[
  {"kind":"deny","schedule":"0 22 * * *","duration":"1h","clusters":["c2"]},
  {"kind":"allow","schedule":"0 8 * * *","duration":"1h","clusters":["c1","c2"]},
  {"kind":"deny","schedule":"0 9 * * *","duration":"1h","clusters":["c2"],"namespaces":["web"]},
  {"kind":"deny","schedule":"0 9 * * *","duration":"1h","clusters":["c2"],"namespaces":["web"],"andOperator":true},
  {"kind":"allow","schedule":"0 10 * * *","duration":"1h","applications":["*"]}],
 "roles":[{"name":"dev","policies":["p, proj:web:dev, applications, get, web/*, allow"],"groups":["devs"]}],
 "clusterResourceWhitelist":[{"group":"","kind":"Namespace"}]}`

var c1 = authorization.Cluster{Name: "c1", Server: "https://c1.example.com:6443"}

func project(t *testing.T, spec string) *argocd.AppProject {
	t.Helper()
	p := &argocd.AppProject{}
	p.Namespace, p.Name = "argocd", "web"
	p.Labels = map[string]string{"team": "web"}
	p.Annotations = map[string]string{apis.AnnotationPropagate: "true", corev1.LastAppliedConfigAnnotation: "{}", "note": "kept"}
	p.Finalizers = []string{apis.FinalizerResources}
	tracked(p)
	if err := json.Unmarshal([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

// tracked puts the marks of an Argo CD on an object of the hub.
func tracked(obj metav1.Object) {
	labels, annotations := map[string]string{apis.LabelInstance: "apps"}, map[string]string{apis.AnnotationTrackingID: "apps:x/y:argocd/z"}
	maps.Copy(labels, obj.GetLabels())
	maps.Copy(annotations, obj.GetAnnotations())
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

func TestRenderGolden(t *testing.T) {
	credential := repository("apps", "repository", "https://git.example.com/apps.git", "web")
	credential.Namespace, credential.Type = "argocd", corev1.SecretTypeOpaque
	credential.Annotations = map[string]string{apis.AnnotationPropagate: "true", "managed-by": "argocd.argoproj.io"}
	secret, config := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.key": []byte("k")}}, &corev1.ConfigMap{
		Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": {0xff}},
	}
	secret.Namespace, secret.Name = "team-a", "tls"
	config.Namespace, config.Name = "team-a", "settings"
	for _, obj := range []metav1.Object{&credential, secret, config} {
		tracked(obj)
	}
	for title, render := range map[string]func() (*workv1.ManifestWork, error){
		"project": func() (*workv1.ManifestWork, error) {
			return dependency.RenderProject(project(t, webProject), c1, "argocd")
		},
		"final-project": func() (*workv1.ManifestWork, error) {
			w, err := dependency.RenderProject(project(t, webProject), c1, "argocd")
			if err != nil {
				return nil, err
			}
			return dependency.FinalProject(w)
		},
		"released-to-project": func() (*workv1.ManifestWork, error) {
			w, err := dependency.RenderProject(project(t, webProject), c1, "argocd")
			if err != nil {
				return nil, err
			}
			dependency.Release(w, []types.NamespacedName{{Namespace: "team-b", Name: "web"}, {Namespace: "team-a", Name: "web"}})
			return dependency.FinalProject(w)
		},
		"released-to-credential": func() (*workv1.ManifestWork, error) {
			w, err := dependency.RenderCredential(&credential, "c1", "openshift-gitops")
			if err != nil {
				return nil, err
			}
			dependency.Release(w, []types.NamespacedName{{Namespace: "team-a", Name: "web"}})
			return w, nil
		},
		"credential": func() (*workv1.ManifestWork, error) {
			return dependency.RenderCredential(&credential, "c1", "openshift-gitops")
		},
		"objects": func() (*workv1.ManifestWork, error) {
			return dependency.RenderObjects(work.Key(fixture.Application("guestbook").Obj()), placed("guestbook", config, secret))
		},
	} {
		t.Run(title, func(t *testing.T) {
			w, err := render()
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, title+".golden.yaml", got)
		})
	}
}

// TestWindowOfADisputedPattern checks that a sync window stays if only some versions of Argo CD match the cluster.
func TestWindowOfADisputedPattern(t *testing.T) {
	p := project(t, `{"syncWindows":[{"kind":"deny","schedule":"* * * * *","duration":"1h","clusters":["c1*1"]}]}`)
	w, err := dependency.RenderProject(p, c1, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if raw := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"kind":"deny"`) {
		t.Errorf("got %s", raw)
	}
}

// destinationsOn returns the permitted namespaces of a rendered project on the cluster.
func destinationsOn(t *testing.T, p *argocd.AppProject, c authorization.Cluster) string {
	t.Helper()
	w, err := dependency.RenderProject(p, c, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	there := &argocd.AppProject{}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, there); err != nil {
		t.Fatal(err)
	}
	if there.Spec.PermitOnlyProjectScopedClusters {
		t.Error("the cluster has no Secret that would be the project's")
	}
	var out []string
	for _, d := range there.Spec.Destinations {
		if d.Server != apis.InClusterServer || d.Name != "" {
			t.Errorf("got %+v", d)
		}
		out = append(out, d.Namespace)
	}
	return strings.Join(out, ",")
}

func TestDestinations(t *testing.T) {
	unknown := authorization.Cluster{Name: "c1"}
	for title, tc := range map[string]struct {
		destinations string
		edit         string
		cluster      authorization.Cluster
		want         string
	}{
		"by name":    {destinations: `{"name":"c1","namespace":"a"}`, want: "a"},
		"by address": {destinations: `{"server":"https://c1.example.com:6443","namespace":"a"}`, want: "a"},
		"as the Application does": {
			destinations: `{"server":"https://kubernetes.default.svc","namespace":"a"},{"name":"in-cluster","namespace":"b"}`, want: "a,b"},
		"by a pattern":          {destinations: `{"name":"c*","namespace":"a-*"}`, want: "a-*"},
		"another cluster":       {destinations: `{"name":"c2","namespace":"a"},{"server":"https://c2","namespace":"b"}`},
		"twice":                 {destinations: `{"name":"c1","namespace":"a"},{"server":"*","namespace":"a"}`, want: "a"},
		"a forbidden namespace": {destinations: `{"server":"*","namespace":"*"},{"server":"*","namespace":"!kube-system"}`, want: "*,!kube-system"},
		"forbidden by name":     {destinations: `{"server":"*","namespace":"*"},{"name":"!c1","namespace":"*"}`},
		"forbidden by address":  {destinations: `{"server":"*","namespace":"*"},{"server":"!https://c1.*","namespace":"x"}`},
		"another forbidden":     {destinations: `{"server":"*","namespace":"a"},{"name":"!c2","namespace":"b"}`, want: "a,b"},
		"the hub itself forbidden": {
			destinations: `{"server":"*","namespace":"a"},{"server":"!https://kubernetes.default.svc","namespace":"*"}`, want: "a,*"},
		"its address not known": {
			destinations: `{"server":"*","namespace":"a"},{"server":"!https://c2","namespace":"*"}`, cluster: unknown},
		"only its own clusters": {destinations: `{"server":"*","namespace":"a"}`, edit: `,"permitOnlyProjectScopedClusters":true`},
	} {
		c := tc.cluster
		if c.Name == "" {
			c = c1
		}
		p := project(t, `{"destinations":[`+tc.destinations+`]`+tc.edit+`}`)
		got := destinationsOn(t, p, c)
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}

// FuzzProjectsPermitNoMoreOnTheCluster checks that a rendered project permits no more namespaces on the cluster than
// the hub's project.
func FuzzProjectsPermitNoMoreOnTheCluster(f *testing.F) {
	f.Add("*", "", "a", "!https://c1", "", "a", "a")
	f.Add("", "!c1", "*", "https://kubernetes.default.svc", "", "!x", "x")
	f.Add("", "in-cluster", "a", "", "zz", "b", "a")
	f.Add("*", "", "a", "", "!in-cluster", "*", "a")
	f.Add("", "in-*", "a", "", "!in-cluster", "b", "a")
	f.Add("!https://kubernetes.default.svc", "in-cluster", "a", "", "c1", "b", "a")
	f.Fuzz(func(t *testing.T, server, name, namespace, server2, name2, namespace2, asked string) {
		p := &argocd.AppProject{}
		p.Name = "web"
		p.Spec.Destinations = []argocd.ProjectDestination{
			{Server: server, Name: name, Namespace: namespace}, {Server: server2, Name: name2, Namespace: namespace2},
		}
		for _, c := range []authorization.Cluster{c1, {Name: "c1"}, {Name: "c1", Hub: true}} {
			w, err := dependency.RenderProject(p, c, "argocd")
			if err != nil {
				t.Fatal(err)
			}
			there := &argocd.AppProject{}
			if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, there); err != nil {
				t.Fatal(err)
			}
			if authorization.DestinationPermitted(there, "in-cluster", apis.InClusterServer, asked) && !authorization.Permits(p, c, asked) {
				t.Errorf("%+v permits %q on %+v, and on the hub it does not", there.Spec.Destinations, asked, c)
			}
		}
	})
}

// permitsThere reports whether the rendered project in a work permits a destination.
func permitsThere(t *testing.T, w *workv1.ManifestWork, name, server, namespace string) bool {
	t.Helper()
	there := &argocd.AppProject{}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, there); err != nil {
		t.Fatal(err)
	}
	return authorization.DestinationPermitted(there, name, server, namespace)
}

// TestElsewhere checks that the delivered project permits exactly the clusters of the Applications' destinations.
func TestElsewhere(t *testing.T) {
	edge := argocd.Destination{Name: "edge-1"}
	for title, tc := range map[string]struct {
		destinations string
		named        bool
		want         string
	}{
		"by name":              {`{"name":"edge-1","namespace":"a-*"},{"name":"edge-2","namespace":"*"}`, true, "a-*"},
		"every cluster":        {`{"server":"*","namespace":"a-*"}`, false, "a-*"},
		"every cluster, named": {`{"server":"*","namespace":"*"},{"name":"edge-?","namespace":"a-1"}`, true, "a-1"},
		"not permitted":        {`{"name":"c1","namespace":"*"}`, false, ""},
		"a forbidden namespace": {
			`{"name":"edge-1","namespace":"*"},{"name":"*","namespace":"!kube-system"}`, true, "a-1"},
		"a forbidden cluster": {`{"name":"edge-1","namespace":"*"},{"name":"!edge-*","namespace":"*"}`, true, ""},
		"its own forbidden":   {`{"name":"edge-1","namespace":"*"},{"name":"!c1","namespace":"*"}`, true, ""},
	} {
		reach := dependency.Reach{Elsewhere: authorization.Elsewhere{Destination: edge, Named: tc.named}, Namespace: "a-1"}
		p := project(t, `{"destinations":[`+tc.destinations+`]}`)
		w, err := dependency.RenderProject(p, c1, "argocd", reach, reach)
		if err != nil {
			t.Fatal(err)
		}
		there := &argocd.AppProject{}
		if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, there); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range there.Spec.Destinations {
			if d.Name == "edge-1" && d.Server == "" {
				got = append(got, d.Namespace)
			} else if d.Server != apis.InClusterServer || d.Name != "" {
				t.Errorf("%s: got %+v", title, d)
			}
		}
		if strings.Join(got, ",") != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}

// FuzzElsewhere checks a cluster behind the managed cluster. The delivered project permits no more there than the
// hub's project.
func FuzzElsewhere(f *testing.F) {
	f.Add("edge-1", "", false, "*", "", "a", "!https://c1", "", "a", "a", "a")
	f.Add("", "arn:x", true, "arn:*", "", "*", "", "*", "!x", "x", "y")
	f.Add("edge-1", "", true, "", "edge-1", "*", "*", "", "!a", "a", "b")
	f.Fuzz(func(t *testing.T, name, server string, named bool, server1, name1, namespace1, server2, name2, namespace2, own, asked string) {
		p := &argocd.AppProject{}
		p.Name = "web"
		p.Spec.Destinations = []argocd.ProjectDestination{
			{Server: server1, Name: name1, Namespace: namespace1}, {Server: server2, Name: name2, Namespace: namespace2},
		}
		e := authorization.Elsewhere{Destination: argocd.Destination{Name: name, Server: server}, Named: named}
		w, err := dependency.RenderProject(p, c1, "argocd", dependency.Reach{Elsewhere: e, Namespace: own})
		if err != nil {
			t.Fatal(err)
		}
		if permitsThere(t, w, "some-other", "https://some.other", asked) {
			t.Error("it permits a cluster that no Application deploys to")
		}
		if permitsThere(t, w, "in-cluster", apis.InClusterServer, asked) && e.Canonical() != argocd.InCluster && !authorization.Permits(p, c1, asked) {
			t.Error("it permits more on the cluster itself")
		}
		if e.Check() == nil && e.Canonical() != argocd.InCluster && name != "some-other" &&
			permitsThere(t, w, cmp.Or(name, "some-name"), cmp.Or(server, "https://some.address"), asked) && !e.Permits(p, c1, asked) {
			t.Errorf("it permits more on %+v", e)
		}
	})
}

func TestReleaseOfAMalformedProject(t *testing.T) {
	for _, raw := range []string{`{}`, `[]`, `{"spec":1}`, `{"spec":{},"metadata":1}`} {
		w := &workv1.ManifestWork{}
		w.Spec.Workload.Manifests = []workv1.Manifest{{}}
		w.Spec.Workload.Manifests[0].Raw = []byte(raw)
		if got, err := dependency.FinalProject(w); got != nil || err != nil {
			t.Errorf("%s: %v, %v", raw, got, err)
		}
	}
}
