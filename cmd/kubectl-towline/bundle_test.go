package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// planted is a secret in many places.
const planted = "pl4ntedS3cret"

// unpacked returns the files of a bundle.
func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		out[name] = string(data)
	}
}

// anything returns an object from YAML.
func anything(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "SECRET", planted)), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestBundle checks that the archive has no known secret from any place, and nothing of Secrets.
func TestBundle(t *testing.T) {
	space(t, "bundle")
	space(t, "bundle-tenant")
	deploy(t, "bundle-tenant", "tenants-workload", "x", nil)
	deploy(t, "bundle-tenant", "shown-argocd", "x", map[string]string{"app.kubernetes.io/part-of": "argocd"})
	raw := func(text string) workv1.Manifest {
		m := workv1.Manifest{}
		m.Raw = []byte(strings.ReplaceAll(text, "SECRET", planted))
		return m
	}
	create(t,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "bundle", Name: "s"}, StringData: map[string]string{"password": planted}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bundle", Name: "c"}, Data: map[string]string{"a": planted}},
		anything(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  namespace: bundle
  name: everything
  labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"a":"SECRET"}'
    example.com/x: SECRET
    argocd.argoproj.io/lines: "{\"a\": \"SECRET\"}\n{\"a\": \"SECRET\"}\n"
spec:
  source:
    repoURL: https://user:SECRET@git.example.com/shown.git
    helm: {values: "a: SECRET", parameters: [{name: a, value: SECRET}], valuesObject: {a: SECRET}, fileParameters: [{name: a, path: SECRET}]}
    kustomize: {commonAnnotations: {a: SECRET}, patches: [{patch: SECRET}]}
    plugin: {env: [{name: A, value: SECRET}], parameters: [{name: a, string: SECRET}]}
    directory: {jsonnet: {extVars: [{name: a, value: SECRET}], tlas: [{name: a, value: SECRET}]}}
  info: [{name: a, value: SECRET}]
operation: {info: [{name: a, value: SECRET}], sync: {manifests: ["a: SECRET"]}}
status:
  conditions: [{type: ComparisonError, message: "git clone https://user:SECRET@git.example.com failed, token=SECRET"}]
  operationState: {message: "Authorization: Bearer SECRET", operation: {sync: {manifests: ["SECRET"], source: {helm: {values: SECRET}}}}}
  history: [{source: {repoURL: "https://SECRET@git.example.com/a"}}]
  odd: {apiKey: SECRET, privateKey: SECRET, accessKey: SECRET, secretKey: SECRET, aws_secret_access_key: SECRET, tokens: [SECRET],
	password: {value: SECRET}, pwd: SECRET, pass: SECRET, args: ["--client-secret", SECRET]}
  messages: ["Authorization: token 12 SECRET", "password: |\n  SECRET\n", "--client-secret=ab,SECRET", "dial user:SECRET@host",
	"pwd=SECRET", "pass=SECRET"]
`),
		anything(t, `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {namespace: bundle, name: everything}
spec:
  generators: [{list: {elements: [{a: SECRET}], elementsYaml: SECRET}}, {clusters: {values: {a: SECRET}}},
	{plugin: {input: {parameters: {a: SECRET}}}}]
  templatePatch: SECRET
  template: {spec: {source: {repoURL: "https://SECRET@h.example/", helm: {values: SECRET}}}}
`),
		anything(t, `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {namespace: bundle, name: everything}
spec: {sourceRepos: ["https://u:SECRET@git.example.com/*"], description: "password: SECRET"}
`),
		&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "bundle", Name: "w.towline",
			Labels: map[string]string{apis.LabelDependency: "credential"}},
			Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{
				raw(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shown-secret"},"data":{"a":"SECRET"},"stringData":{"b":"SECRET"}}`),
				raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"SECRET"}}`),
				raw(`{"apiVersion":"example.com/v1","kind":"Odd","metadata":{"name":"shown-odd","labels":{"a":"SECRET"}},"spec":{"pin":"SECRET"}}`),
			}}}},
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "bundle", Annotations: map[string]string{"example.com/a": planted}}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "bundle", Name: "e"},
			Message:        "clone https://u:" + planted + "@git.example.com: shown-event",
			InvolvedObject: corev1.ObjectReference{Namespace: "bundle"}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "bundle-tenant", Name: "e"}, Message: "tenants-event",
			InvolvedObject: corev1.ObjectReference{Namespace: "bundle-tenant"}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "bundle-tenant", Name: "t"}, Message: "shown-by-towline", ReportingController: "towline",
			InvolvedObject: corev1.ObjectReference{Namespace: "bundle-tenant"}},
		fixture.OlderWork(fixture.Application("w").Namespace("bundle").Cluster("bundle").
			Spec(`{"source":{"repoURL":"https://u:`+planted+`@h.example/","helm":{"values":"`+planted+`"}}}`).Obj(), false),
	)
	bindTowline(t, "bundle")
	deploy(t, "bundle", "towline-controller", "towline:v1", map[string]string{"app.kubernetes.io/name": "towline",
		"app.kubernetes.io/component": "controller"},
		func(c *corev1.Container) {
			c.Args = []string{"controller", "--move-order=old-first", "--x-token=" + planted, "--client-secret", planted}
			c.Env = []corev1.EnvVar{{Name: "SHOWN_NAME", Value: planted}}
		})
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	s := as(t, "", "", "bundle", "-f", file)
	if s.code != exitGood {
		t.Fatalf("got %+v", s)
	}
	files := unpacked(t, file)
	whole := ""
	for name, text := range files {
		if i := strings.Index(text, planted); i >= 0 {
			t.Errorf("%s has the secret: …%s", name, text[max(0, i-100):i+len(planted)])
		}
		whole += text
	}
	for _, shown := range []string{
		"git.example.com/shown.git", "shown-secret", "shown-odd", "shown-event", "shown-by-towline", "shown-argocd",
		"SHOWN_NAME", "--move-order=old-first", "name: everything", "REDACTED",
	} {
		if !strings.Contains(whole, shown) {
			t.Errorf("%q is not in the bundle", shown)
		}
	}
	for _, tenants := range []string{"tenants-event", "tenants-workload"} {
		if strings.Contains(whole, tenants) {
			t.Errorf("%q of another tenant is in the bundle", tenants)
		}
	}
	for _, name := range []string{
		"README.txt", "check.yaml", "versions.yaml", "objects/application.yaml", "objects/applicationset.yaml",
		"objects/manifestwork-dependencies.yaml", "objects/event.yaml", "objects/event-bundle.yaml", "objects/deployment-bundle.yaml",
	} {
		if files[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	if files["objects/secret.yaml"] != "" || files["objects/configmap.yaml"] != "" {
		t.Error("Secrets or ConfigMaps are in the bundle")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if s := as(t, "", "", "bundle", "-f", file); s.code != exitError || !strings.Contains(s.errOut, "file exists") {
		t.Errorf("it overwrote a file: %+v", s)
	}
}

// TestBundleWithoutRights checks that refused reads are noted.
func TestBundleWithoutRights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	s := as(t, "stranger", "", "bundle", "-f", file, "--limit", "1")
	if s.code != exitGood || !strings.Contains(s.out, "? Application: applications.argoproj.io is forbidden") {
		t.Errorf("got %+v", s)
	}
	if files := unpacked(t, file); !strings.Contains(files["README.txt"], "Application: applications.argoproj.io is forbidden") || len(files) != 3 {
		t.Errorf("got %v", files)
	}
}
